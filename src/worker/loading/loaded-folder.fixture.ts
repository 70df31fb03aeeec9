/** Folders of workflows that are written for a test, and what loading them gives. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import type { WorkflowBundle } from './bundle.js';
import type { LoadProblem } from './load-error.js';
import type { LoadedWorkflows } from './loader.js';

/**
 * Loading changes how a process imports modules, so it happens in a process of its own, from the built code, as a
 * worker does it. One process loads all the folders, one after the other.
 */
const LOADER = fileURLToPath(new URL('../../../dist/worker/loading/loader.js', import.meta.url));
const SCRIPT = `
  import { createInterface } from 'node:readline';
  import { loadWorkflows } from ${JSON.stringify(LOADER)};
  for await (const line of createInterface({ input: process.stdin })) {
    const [folder, find] = JSON.parse(line);
    try {
      const { steps, ...loaded } = await loadWorkflows(folder);
      const found = find.map(([workflow, step]) => steps.find(workflow, step) !== undefined);
      console.log(JSON.stringify({ ...loaded, found }));
    } catch (error) {
      console.log(JSON.stringify({ problems: error.problems, message: error.stack }));
    }
  }
`;
const child = spawn(process.execPath, ['--enable-source-maps', '--input-type=module', '-e', SCRIPT], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
let last: Promise<unknown> = Promise.resolve();

const root = realpathSync(mkdtempSync(join(tmpdir(), 'perdure-loader-')));
afterAll(async () => {
  child.stdin.end();
  await once(child, 'close');
  rmSync(root, { recursive: true, force: true });
});
let folders = 0;

export function folder(files: Record<string, string>): string {
  const path = join(root, `folder-${folders++}`, 'workflows');
  mkdirSync(path, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text);
  }
  return path;
}

type Outcome = LoadedWorkflows & { found: boolean[]; problems?: LoadProblem[]; message?: string };

export function load(path: string, find: [string, string][] = []): Promise<Outcome> {
  const answer = last.then(async () => {
    child.stdin.write(`${JSON.stringify([path, find])}\n`);
    return JSON.parse((await answers.next()).value as string) as Outcome;
  });
  last = answer;
  return answer;
}

export const loadFiles = (files: Record<string, string>, find?: [string, string][]) =>
  load(folder(files), find);

export const workflow = (name: string, more = '') =>
  `import { workflow, step, z } from 'perdure';\nexport default workflow({ name: '${name}', fn: async () => 1, ${more} });\n`;

export const bundleOf = (outcome: Outcome, type: string): WorkflowBundle => {
  const bundle = outcome.bundles.find(({ workflowType }) => workflowType === type);
  if (!bundle) throw new Error(`no bundle for ${type}: ${outcome.message}`);
  return bundle;
};
