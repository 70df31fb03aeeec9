/** Which code workers have: what was read at the start, what is refused, and what changes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { takeOneIn } from '../../../test/share.js';
import type { FromWorker } from '../../core/task.js';
import { LoadError } from '../loading/load-error.js';
import {
  expectWorks,
  prepareSupervision,
  root,
  STEPS,
  said,
  source,
  start,
  step,
  supervise,
  supervisor,
  WORKFLOW,
  write,
} from './supervised.fixture.js';

prepareSupervision();

takeOneIn(2);

describe('the code', () => {
  test('is that which was read at the start, for processes that take the place of others as well', async () => {
    const first = await start();
    const { codeId } = first.received[0] as Extract<FromWorker, { kind: 'register' }>;
    write('steps.js', STEPS.replace('({ input, pid: process.pid })', "'changed on disk'"));
    write('workflow.js', WORKFLOW.replace("name: 'fine'", "name: 'renamed'"));
    process.kill(supervisor!.pids()[0]!, 'SIGKILL');
    const second = await source.worker(first);
    expect(second.received[0]).toMatchObject({ kind: 'register', codeId });
    await expectWorks(second);
    // A worker that is started anew has the new code, under another version.
    await supervisor!.stop(0);
    const third = await start();
    const registered = third.received[0] as Extract<FromWorker, { kind: 'register' }>;
    expect(registered.codeId).not.toBe(codeId);
    expect(registered.workflows.map(({ entry }) => entry.name)).toContain('renamed');
  });

  test('outlives its files: a process that takes the place of another one does not look for them', async () => {
    write('part.ts', 'export const part: string = "typed";');
    write('workflow.js', `import { part } from './part.js';\n${WORKFLOW}\nexport const used = part;`);
    const first = await start();
    const { codeId } = first.received[0] as Extract<FromWorker, { kind: 'register' }>;
    rmSync(root, { recursive: true });
    process.kill(supervisor!.pids()[0]!, 'SIGKILL');
    const second = await source.worker(first);
    expect(second.received[0]).toMatchObject({ kind: 'register', codeId });
    await expectWorks(second);
  });

  test('has a version that changes with its steps, and not with where it is', async () => {
    const idAt = async (directory: string) => {
      const known = [...source.sessions];
      const supervisor = supervise({ directory, versionName: 'release-7' });
      await supervisor.registered;
      const session = source.sessions.find((each) => !known.includes(each))!;
      await supervisor.stop(0);
      const { codeId, versionName } = session.received[0] as Extract<FromWorker, { kind: 'register' }>;
      expect(versionName).toBe('release-7');
      return codeId;
    };
    const here = await idAt(root);
    const elsewhere = mkdtempSync(join(tmpdir(), 'perdure-elsewhere-'));
    writeFileSync(join(elsewhere, 'workflow.js'), WORKFLOW);
    writeFileSync(join(elsewhere, 'steps.js'), STEPS);
    try {
      expect(await idAt(elsewhere)).toBe(here);
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
    write('steps.js', STEPS.replace('({ input, pid: process.pid })', "'other'"));
    expect(await idAt(root)).not.toBe(here);
  });

  test('tells the server which steps it has, those of shared code and the built-in ones included', async () => {
    const { received } = await start();
    const { workflows } = received[0] as Extract<FromWorker, { kind: 'register' }>;
    const fine = workflows.find(({ entry }) => entry.name === 'fine');
    expect(fine?.stepNames).toEqual(expect.arrayContaining(['echo', 'loop', 'sendHttpRequest']));
  });
});

describe('a folder that does not load', () => {
  test('is refused with its problems, and nothing is left running', async () => {
    write('workflow.js', `import 'node:fs';\n${WORKFLOW}`);
    const supervisor = supervise({ count: 2 });
    const error = (await supervisor.ready.catch((thrown: unknown) => thrown)) as LoadError;
    expect(error).toBeInstanceOf(LoadError);
    expect(error.problems).toMatchObject([{ file: 'workflow.js', line: 1 }]);
    expect(supervisor.pids()).toEqual([]);
  });

  test('since it ends the process, is refused as well', async () => {
    write('steps.js', `${STEPS}\nconsole.error('no licence');\nprocess.exit(0);`);
    const supervisor = supervise();
    await expect(supervisor.ready).rejects.toThrow(
      /ended while it loaded them \(exit code 0\)\. Does a file end the process\? .* no licence/,
    );
    expect(supervisor.pids()).toEqual([]);
  });
});

describe('files that change', () => {
  test('are loaded by new workers, which then take over; steps under way end', async () => {
    const old = await start({ watch: true });
    old.send(step('slow'));
    write('workflow.js', `${WORKFLOW}\nexport const added = workflow({ name: 'added', fn: async () => 1 });`);
    const next = await source.worker(old);
    expect(next.received[0]).toMatchObject({ workflows: [{ entry: { name: 'added' } }, {}, {}] });
    expect(await source.answer(old)).toMatchObject({ kind: 'stepCompleted', result: '"in time"' });
    await source.until(() => old.gone);
    expect(old.received.map(({ kind }) => kind)).toContain('draining');
    await expectWorks(next);
    while (supervisor!.pids().length > 1) await new Promise(setImmediate);
  });

  test('and do not load leave the old workers alone', async () => {
    const old = await start({ watch: true });
    write('workflow.js', 'export default workflow({{');
    while (!said(/go on running/)) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(said(/go on running/)!.message).toContain('workflow.js:1:');
    await expectWorks(old);
    write(
      'deeper/workflow.js',
      WORKFLOW.replace(/'fine'|'endless'/g, (name) => name.replace("'", "'deeper_")).replace(
        './steps',
        '../steps',
      ),
    );
    write('workflow.js', WORKFLOW);
    await expectWorks(await source.worker(old));
    await source.until(() => old.gone);
  });
});

test('files whose loading does not end are said to, and given up when they are mended', async () => {
  const old = await start({ watch: true });
  write('steps.js', `await new Promise(() => {});\n${STEPS}`);
  await vi.waitFor(() => expect(said(/takes long\. Does a file wait/)).toBeDefined(), 20_000);
  await expectWorks(old);
  write('steps.js', STEPS.replace('({ input, pid: process.pid })', "'mended'"));
  const next = await source.worker(old);
  next.send(step('echo'));
  expect(await source.answer(next)).toMatchObject({ kind: 'stepCompleted', result: '"mended"' });
  expect(said(/cannot be loaded/)).toBeUndefined();
}, 50_000);

test('a worker that takes the place of another one has the steps of packages as well', async () => {
  write('node_modules/billing/package.json', '{ "name": "billing", "type": "module", "main": "index.js" }');
  write(
    'node_modules/billing/index.js',
    `import { step } from 'perdure';\nexport const bill = step({ name: 'bill', fn: async () => 'billed' });`,
  );
  write('workflow.js', `import { bill } from 'billing';\nbill;\n${WORKFLOW}`);
  const first = await start();
  first.send(step('die'));
  const next = await source.worker(first);
  next.send(step('bill'));
  expect(await source.answer(next)).toMatchObject({ kind: 'stepCompleted', result: '"billed"' });
});

describe('files outside the folder', () => {
  test('that workflows and steps import are loaded when they change', async () => {
    write(
      'flows/workflow.js',
      WORKFLOW.replace("'perdure';", "'perdure';\nimport { helper } from '../lib/helper.js';\nhelper;"),
    );
    write('flows/steps.js', `import { impl } from '../lib/impl.js';\nimpl;\n${STEPS}`);
    write('lib/helper.js', `import { deep } from './deep/deep.js';\nexport const helper = deep;`);
    write('lib/deep/deep.js', 'export const deep = 1;');
    write(
      'lib/impl.js',
      `import values from './values.json' with { type: 'json' };\nexport const impl = values;`,
    );
    write('lib/values.json', '{}');
    let current = await start({ watch: true, directory: join(root, 'flows') });
    for (const [file, text] of [
      ['lib/deep/deep.js', 'export const deep = 2;'],
      ['lib/values.json', '{ "a": 1 }'],
      ['lib/impl.js', 'export const impl = 2;'],
    ] as const) {
      write(file, text);
      const next = await source.worker(current);
      await source.until(() => current.gone);
      current = next;
    }
    await expectWorks(current);
  });
});

describe('a change while a step of the code before is under way', () => {
  test('is said to wait for it', async () => {
    const waiting = `import { existsSync } from 'node:fs';
import { step } from 'perdure';
export const hold = step({ name: 'hold', fn: async () => {
  while (!existsSync(new URL('./.released', import.meta.url))) await new Promise((resolve) => setTimeout(resolve, 10));
} });`;
    write('more/steps.js', waiting);
    write('workflow.js', `import { hold } from './more/steps.js';\nhold;\n${WORKFLOW}`);
    const old = await start({ watch: true });
    old.send(step('hold'));
    write('lib.js', '1');
    const next = await source.worker(old);
    await vi.waitFor(
      () => expect(said(/waits up to 10 s for what it has under way: step "hold" of fine-1/)).toBeDefined(),
      5_000,
    );
    write('lib.js', '2');
    await vi.waitFor(
      () => expect(said(/files have changed again: they are loaded when the steps/)).toBeDefined(),
      5_000,
    );
    expect(source.sessions.filter((session) => session !== old && session !== next)).toEqual([]);
    write('more/.released', '');
    expect(await source.answer(old)).toMatchObject({ kind: 'stepCompleted' });
    await source.until(() => next.gone);
    await expectWorks(await source.worker(next));
  });
});
