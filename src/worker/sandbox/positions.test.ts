import { transformSync } from 'esbuild';
import { expect, test } from 'vitest';
import { ScriptedRun } from './scripted-run.fixture.js';

const source = `import { workflow } from 'perdure';

interface Unused { a: string }

export default workflow({
  name: 'test',
  fn: async (): Promise<void> => {
    const answer: unknown = await fetch('http://localhost');
  },
});
`;

const bundle = (sourcemap: 'inline' | false) => ({
  workflowType: 'test',
  filename: 'test/workflow.ts',
  exportName: 'default',
  stateless: false,
  code: transformSync(source, {
    loader: 'ts',
    format: 'cjs',
    sourcemap,
    sourcefile: '/project/test/workflow.ts',
  }).code,
});

test('a refusal names the line of the author when the bundle has a source map', () => {
  const [command] = new ScriptedRun(bundle('inline')).start().turn();
  expect(command).toMatchObject({ failure: { message: expect.stringContaining(' (test/workflow.ts:8:') } });
});

test('and the line of the bundle when it has none', () => {
  const [command] = new ScriptedRun(bundle(false)).start().turn();
  expect(command).toMatchObject({
    failure: { message: expect.stringMatching(/ \(test\/workflow\.ts:\d+:\d+\)$/) },
  });
});

test('a stack has only frames of the author', () => {
  const run = new ScriptedRun(bundle('inline')).start();
  const answer = run.rawAttempt();
  const [command] = answer.kind === 'turnCompleted' ? answer.commands : [];
  const stack = command?.kind === 'failRun' ? command.failure.stackTrace : undefined;
  expect(stack?.split('\n').filter((line) => line.includes(' at '))).toEqual([
    expect.stringMatching(/test\/workflow\.ts:8:\d+/),
  ]);
});
