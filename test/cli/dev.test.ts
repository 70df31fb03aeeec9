/** `perdure dev` while its files change under it, as editors, version control and people change them. */
import { cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type Program, Workplace } from '../../src/cli/program.fixture.js';
import { takeOneIn } from '../share.js';

takeOneIn(2);

// Each load starts processes, which takes its time on a busy machine.
vi.setConfig({ testTimeout: 240_000 });
const PATIENCE = { timeout: 60_000, interval: 100 };

let workplace: Workplace;
let program: Program;
let url: string;
beforeEach(() => {
  workplace = new Workplace();
});
afterEach(() => workplace.clear());

const returns = (name: string, value: string, imports = '') =>
  `import { workflow } from 'perdure';\n${imports}\nexport default workflow({ name: '${name}', fn: async () => ${value} });\n`;

const path = (file: string) => join(workplace.folder, file);
function write(file: string, text: string): void {
  mkdirSync(dirname(path(file)), { recursive: true });
  writeFileSync(path(file), text);
}
/** The way of git and of most editors: another file takes the name. */
function replace(file: string, text: string): void {
  write('beside.tmp', text);
  renameSync(path('beside.tmp'), path(file));
}

async function dev(): Promise<void> {
  program = workplace.perdure(['dev', 'flows', '--port', '0']);
  [url] = (await program.says(/http:\/\/127\.0\.0\.1:\d+/)) as unknown as [string];
}

async function outcome(workflowName: string): Promise<unknown> {
  const response = await fetch(`${url}/workflow/run`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ workflowName, input: null }),
  });
  const { output, error } = (await response.json()) as { output?: unknown; error?: unknown };
  return output ?? error;
}

const comesToReturn = (workflowName: string, value: unknown) =>
  vi.waitFor(async () => expect(await outcome(workflowName)).toEqual(value), PATIENCE);

const comesToHave = (names: string[]) =>
  vi.waitFor(async () => {
    const { workflows } = (await (await fetch(`${url}/workflow/catalog`)).json()) as {
      workflows: { name: string }[];
    };
    expect(workflows.map(({ name }) => name).sort()).toEqual(names);
  }, PATIENCE);

/** What the program says from here on. */
function further(pattern: RegExp): Promise<unknown> {
  const from = program.output().length;
  return vi.waitFor(() => expect(program.output().slice(from)).toMatch(pattern), PATIENCE);
}

it('sees every change of a file, also of one that another has taken the place of', async () => {
  write('flows/one/workflow.ts', returns('one', '1'));
  await dev();
  await comesToReturn('one', 1);
  replace('flows/one/workflow.ts', returns('one', '2'));
  await comesToReturn('one', 2);
  write('flows/one/workflow.ts', returns('one', '3'));
  await comesToReturn('one', 3);
  replace('flows/one/workflow.ts', returns('one', '4'));
  await comesToReturn('one', 4);
});

it('says what is wrong with a file, goes on with the code before, and takes the mended one', async () => {
  write('flows/one/workflow.ts', returns('one', '1'));
  await dev();
  const told = further(
    /flows cannot be loaded: one\/workflow\.ts:2:\d+: .*\nThe workflows as they were before go on running/,
  );
  write('flows/one/workflow.ts', "import { workflow } from 'perdure';\nexport default workflow({{");
  await told;
  expect(await outcome('one')).toBe(1);
  write('flows/one/workflow.ts', returns('one', '2'));
  await comesToReturn('one', 2);
});

it('drops a workflow whose file or folder is gone, and takes one that was renamed', async () => {
  for (const name of ['one', 'two', 'three']) write(`flows/${name}/workflow.ts`, returns(name, `'${name}'`));
  await dev();
  await comesToHave(['one', 'three', 'two']);
  rmSync(path('flows/two/workflow.ts'));
  await comesToHave(['one', 'three']);
  rmSync(path('flows/three'), { recursive: true });
  await comesToHave(['one']);
  renameSync(path('flows/one'), path('flows/moved'));
  await further(/the changed workflows are loaded/);
  write('flows/moved/workflow.ts', returns('renamed', "'moved'"));
  await comesToHave(['renamed']);
  expect(await outcome('renamed')).toBe('moved');
  const told = further(/there is no workflow in it[\s\S]*The workflows as they were before go on running/);
  rmSync(path('flows/moved'), { recursive: true });
  await told;
  write('flows/again/workflow.ts', returns('again', "'again'"));
  await comesToHave(['again']);
});

it('finds the folder again that was gone for a while', async () => {
  write('flows/one/workflow.ts', returns('one', '1'));
  await dev();
  let told = further(/the folder does not exist[\s\S]*The workflows as they were before go on running/);
  rmSync(path('flows'), { recursive: true });
  await told;
  expect(await outcome('one')).toBe(1);
  write('flows/one/workflow.ts', returns('one', '2'));
  await comesToReturn('one', 2);
  told = further(/the folder does not exist/);
  renameSync(path('flows'), path('elsewhere'));
  await told;
  cpSync(path('elsewhere'), path('flows'), { recursive: true });
  write('flows/one/workflow.ts', returns('one', '3'));
  await comesToReturn('one', 3);
  write('flows/one/workflow.ts', returns('one', '4'));
  await comesToReturn('one', 4);
});

it('sees a file outside the folder mended that kept the load before from succeeding', async () => {
  write('flows/one/workflow.ts', returns('one', '1'));
  await dev();
  const imports = (file: string) => `import { value } from '../../${file}';`;
  // One with a mistake, which no load has ever succeeded with.
  write('lib/value.ts', 'export const value = ;');
  let told = further(/lib\/value\.ts:1:22: /);
  write('flows/one/workflow.ts', returns('one', 'value', imports('lib/value.js')));
  await told;
  write('lib/value.ts', 'export const value = 2;');
  await comesToReturn('one', 2);
  // One that throws.
  told = further(/loading this file failed: Error: not today/);
  write('lib/value.ts', "export const value = 3;\nthrow new Error('not today');");
  await told;
  replace('lib/value.ts', 'export const value = 3;');
  await comesToReturn('one', 3);
  // One that is not there yet, nor its folder.
  const missing = further(/Could not resolve "\.\.\/\.\.\/more\/value\.js"/);
  write('flows/one/workflow.ts', returns('one', 'value', imports('more/value.js')));
  await missing;
  write('more/value.ts', 'export const value = 4;');
  await comesToReturn('one', 4);
  // And one whose folder goes and comes back.
  const gone = further(/Could not resolve/);
  rmSync(path('more'), { recursive: true });
  await gone;
  write('more/value.ts', 'export const value = 5;');
  await comesToReturn('one', 5);
});
