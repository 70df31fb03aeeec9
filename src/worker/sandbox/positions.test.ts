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

test('and no line when it has none: a line of the bundle would mislead', () => {
  const [command] = new ScriptedRun(bundle(false)).start().turn();
  expect(command).toMatchObject({
    failure: { message: expect.stringMatching(/ cannot be used in a workflow, [^()]*\(?\)?[^()]*$/) },
  });
  expect(command).not.toMatchObject({ failure: { message: expect.stringMatching(/workflow\.ts:\d+:\d+/) } });
});
