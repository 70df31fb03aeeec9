import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { silentLog } from '../../core/log.js';
import { type StepContext, stepContext } from '../../sdk/step-context.js';
import { runnerOf, TASK } from './one-step.fixture.js';

describe('stepContext()', () => {
  test('knows the step, also after awaiting and in parallel', async () => {
    const seen: string[] = [];
    const { runner } = runnerOf({
      fn: async () => {
        await sleep(1);
        const { workflowId, runId, stepName, attempt, idempotencyKey, lastHeartbeat } = stepContext();
        seen.push(
          [workflowId, runId, stepName, attempt, idempotencyKey, JSON.stringify(lastHeartbeat)].join(' '),
        );
      },
    });
    runner.run({ ...TASK, lastHeartbeat: '{"at":7}' });
    runner.run({ ...TASK, runId: 'other', workflowId: 'order-2', attempt: 1 });
    await runner.idle();
    expect(seen.sort()).toEqual(['order-1 run charge 2 key {"at":7}', 'order-2 other charge 1 key ']);
  });

  test('says aloud, once, that a cost came too late to be counted', async () => {
    const said: string[] = [];
    let late: StepContext['cost'] | undefined;
    const { answer, sent } = runnerOf(
      {
        fn: () => {
          late = stepContext().cost;
          late({ amount: '1' });
        },
      },
      { ...silentLog, warn: (_fields, message) => said.push(message) },
    );
    expect(await answer()).toMatchObject({ kind: 'stepCompleted', costs: [{ amount: '1' }] });
    expect(said).toEqual([]);
    late!({ amount: '0.5', currency: 'EUR' });
    late!({ amount: '0.5', currency: 'EUR' });
    expect(said).toEqual([
      expect.stringMatching(/"charge" said that it spent 0.5 EUR after its attempt had ended/),
    ]);
    expect(sent).toHaveLength(1);
  });

  test('logs with the names of the step', async () => {
    const lines: unknown[] = [];
    const { answer } = runnerOf(
      { fn: () => stepContext().log.info('hello', { extra: 1 }) },
      { ...silentLog, info: (fields, message) => lines.push([fields, message]) },
    );
    await answer();
    expect(lines).toEqual([
      [{ extra: 1, workflowId: 'order-1', runId: 'run', step: 'charge', attempt: 2 }, 'hello'],
    ]);
  });
});
