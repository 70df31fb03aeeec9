/** A runner that knows one step and the task of an attempt at it: what the tests of running steps share. */
import { expect } from 'vitest';
import { type Log, silentLog } from '../../core/log.js';
import type { FromWorker, StepTask } from '../../core/task.js';
import { stepDefinition } from '../../sdk/definition.js';
import type { z } from '../../sdk/index.js';
import { step } from '../../sdk/step.js';
import { StepRunner } from './step-runner.js';

type Definition = Parameters<typeof step>[0] & { inputSchema?: z.ZodType; outputSchema?: z.ZodType };

/** A runner that knows one step, and what it has sent. */
export function runnerOf(
  definition: Partial<Definition> & { fn: (input: never) => unknown },
  log: Log = silentLog,
) {
  const known = stepDefinition(step({ name: 'charge', ...definition } as Definition));
  const sent: FromWorker[] = [];
  let wake = () => {};
  const runner = new StepRunner({
    find: (workflowType, name) => (workflowType === 'order' && name === 'charge' ? known : undefined),
    send: (message) => {
      sent.push(message);
      wake();
    },
    log,
    payloadBytes: 1_000,
  });
  const until = async (kind: FromWorker['kind'], count = 1) => {
    for (;;) {
      const found = sent.filter((message) => message.kind === kind);
      if (found.length >= count) return found;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  const answer = async (task: Partial<StepTask> = {}) => {
    runner.run({ ...TASK, ...task });
    await runner.idle();
    expect(sent.filter(({ kind }) => kind !== 'stepHeartbeat')).toHaveLength(1);
    return sent.at(-1)!;
  };
  return { runner, sent, until, answer };
}

export const TASK: StepTask = {
  kind: 'step',
  runId: 'run',
  workflowId: 'order-1',
  workflowType: 'order',
  stepName: 'charge',
  scheduledEventId: 5,
  attempt: 2,
  input: ['{"cents":3}'],
  timeoutMs: 60_000,
  idempotencyKey: 'key',
};
export const ATTEMPT = { runId: 'run', scheduledEventId: 5, attempt: 2 };

export const failureOf = (message: FromWorker) => {
  if (message.kind !== 'stepFailed') throw new Error(`not a failure: ${JSON.stringify(message)}`);
  return message.failure;
};
