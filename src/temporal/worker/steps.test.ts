/** One attempt of a step, from Temporal's call to its answer: what it asks of the cluster, and when it gives signs of life. */
import type { Context } from '@temporalio/activity';
import { RawValue } from '@temporalio/common';
import type { ActivityExecuteInput } from '@temporalio/worker';
import { describe, expect, it } from 'vitest';
import { silentLog } from '../../core/log.js';
import { stepDefinition } from '../../sdk/definition.js';
import { step } from '../../sdk/step.js';
import { stepContext } from '../../sdk/step-context.js';
import type { Cluster } from '../cluster/connection.js';
import { PURSE_HEADER } from '../cluster/conventions.js';
import { toPayload, toPayloads } from '../translate/payload.js';
import { Budgets } from './budgets.js';
import { handBack } from './hand-back.js';
import { whilePaused } from './paused-runs.js';
import { Steps } from './steps.js';

/** Notes what is asked of the cluster, which answers after that time. */
function attemptOf(
  input: Partial<ActivityExecuteInput>,
  {
    answerMs = 0,
    heartbeatTimeoutMs = 0,
    cancellationDetails = {},
    heartbeatDetails = undefined as unknown,
    spends = false,
  } = {},
) {
  const ran: string[] = [];
  const charge = stepDefinition(
    step({
      name: 'charge',
      fn: async () => {
        ran.push('charge');
        if (spends) stepContext().cost({ amount: '1' });
      },
    }),
  );
  const calls: string[] = [];
  const beats: unknown[] = [];
  const service = new Proxy(
    {},
    {
      get: (_, name) => async (request: { requestId?: string }) => {
        calls.push([name, request.requestId].filter(Boolean).join(' '));
        await new Promise((resolve) => setTimeout(resolve, answerMs));
        const purse = { amount: '5', currency: 'USD', spent: '0', root: 'w', waiting: [] };
        return { queryResult: toPayloads([JSON.stringify(purse)]) };
      },
    },
  );
  const call = (ask: (of: object) => Promise<unknown>) => ask(service);
  const cluster = () => ({ namespace: 'n', identity: 'i', call }) as unknown as Cluster;
  const steps = new Steps(
    { find: () => charge, log: silentLog, payloadBytes: 1_000, leavesBuiltIns: true },
    undefined as never,
    handBack(cluster, 'me', silentLog),
    whilePaused(cluster, 'me'),
    new Budgets(cluster, 'me', silentLog),
    () => {},
  );
  const context = {
    info: {
      ...{ activityId: '1', activityType: 'order#charge', attempt: 1, heartbeatTimeoutMs, heartbeatDetails },
      ...{ workflowExecution: { workflowId: 'w', runId: 'r' }, startToCloseTimeoutMs: 60_000 },
    },
    cancellationSignal: new AbortController().signal,
    heartbeat: (details: unknown) => beats.push(details),
    cancellationDetails,
  } as unknown as Context;
  const result = steps.execute(context, { args: [], headers: {}, ...input });
  return { result, calls, beats, ran };
}

const PURSE = { [PURSE_HEADER]: toPayload('"$purse/1"') as never };

describe('an attempt of a step', () => {
  it('asks nothing of the cluster where its run has no budget, and carries nothing where it has spent nothing', async () => {
    const { result, calls, beats } = attemptOf({}, { heartbeatTimeoutMs: 1_000 });
    const answer = await result;
    expect(answer).toBeInstanceOf(RawValue);
    const { payload } = answer as RawValue & { payload: { metadata: object } };
    expect(Object.keys(payload.metadata)).toEqual(['encoding']);
    expect([calls, beats]).toEqual([[], []]);
  });

  it('asks the purse once where there is enough', async () => {
    const { result, calls } = attemptOf({ headers: PURSE });
    await result;
    expect(calls).toEqual(['queryWorkflow']);
  });

  it('keeps what it spends with the step before its purse hears of it, and first tells what one before it could not', async () => {
    const untold = [{ id: 'r/1/0/1', costs: [{ currency: 'USD', amount: '2' }] }];
    const heartbeatDetails = { perdureCosts: [], untold };
    const { result, calls } = attemptOf({ headers: PURSE }, { heartbeatDetails, spends: true });
    await result;
    expect(calls).toEqual([
      'signalWorkflowExecution r/1/0/1',
      'queryWorkflow',
      'recordActivityTaskHeartbeat',
      'signalWorkflowExecution r/1/1/1',
    ]);
  });

  it('gives signs of life while it waits for the answer of its purse', async () => {
    const { result, beats } = attemptOf({ headers: PURSE }, { answerMs: 450, heartbeatTimeoutMs: 400 });
    await result;
    expect(beats.length).toBeGreaterThanOrEqual(3);
  });

  it.each([{ timedOut: true }, { notFound: true }, { cancelRequested: true }])(
    'does not begin when the answers to them have said %j',
    async (cancellationDetails) => {
      const { result, ran } = attemptOf({ headers: PURSE }, { cancellationDetails });
      await expect(result).rejects.toThrow('cancelled');
      expect(ran).toEqual([]);
    },
  );
});
