/** The second argument of a workflow, which authors take apart, hand on and log as any other object. */
import { expect, test } from 'vitest';
import { ScriptedRun } from './scripted-run.fixture.js';

test('the context has its info as a property of its own, which goes on being right', () => {
  const run = new ScriptedRun(({ workflow, sleep }) =>
    workflow({
      name: 'test',
      fn: async (_input, context) => {
        const { info, ...rest } = context;
        const before = info.historyLength;
        await sleep(1);
        return {
          keys: Object.keys(context),
          rest: Object.keys(rest),
          spread: { ...context }.info.runId === info.runId,
          behindProxy: new Proxy(context, {}).info.runId === info.runId,
          inherited: (Object.create(context) as typeof context).info.runId === info.runId,
          logged: JSON.parse(JSON.stringify(context)).info,
          infoKeys: Object.keys(info),
          isFrozen: Object.isFrozen(info),
          isLater: info.historyLength > before && context.info.historyLength === info.historyLength,
        };
      },
    }),
  );
  run.start().turn();
  const [command] = run.fireTimer('1').turn();
  const names = ['workflowId', 'runId', 'workflowType', 'catalog', 'startedAt', 'attempt', 'historyLength'];
  expect(JSON.parse((command as { result: string }).result)).toEqual({
    ...{ keys: ['info', 'control'], rest: ['control'], spread: true, behindProxy: true, inherited: true },
    logged: expect.objectContaining({ runId: expect.any(String), historyLength: expect.any(Number) }),
    ...{ infoKeys: names, isFrozen: true, isLater: true },
  });
});
