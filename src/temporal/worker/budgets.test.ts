/** What a worker tells a purse: heard, however long the cluster is away, and given up only where nobody hears. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PerdureError } from '../../core/errors.js';
import { silentLog } from '../../core/log.js';
import { type Paused, pausedAfter } from '../../core/run/pause.js';
import type { Cluster } from '../cluster/connection.js';
import { MEMO, PURSE, type Purse } from '../cluster/conventions.js';
import { CODE, RefusedCall, unavailable } from '../cluster/errors.js';
import { tell, woken } from '../kept/purse.js';
import { fromPayloads, fromSingle, toPayload, toPayloads } from '../translate/payload.js';
import { Budgets } from './budgets.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const SAID = { id: 'request-1', costs: [{ currency: 'USD', amount: '1' }] };
const refused = (code: number) => new RefusedCall({ code, details: 'no' } as never, new Map());

/** Each call ends with the next of these errors, and when none is left it is heard. */
function purse(...errors: Error[]) {
  const heard: unknown[] = [];
  const said: string[] = [];
  const service = {
    signalWorkflowExecution: async (request: { requestId: string }) => heard.push(request.requestId),
  };
  const cluster = {
    namespace: 'n',
    identity: 'i',
    call: async (ask: (of: typeof service) => Promise<unknown>) => {
      const error = errors.shift();
      if (error) throw error;
      return ask(service);
    },
  } as unknown as Cluster;
  const log = { ...silentLog, error: (_fields: object, message: string) => void said.push(message) };
  const telling = new Budgets(() => cluster, 'me', log).spent('$purse/1', SAID);
  return { heard, said, telling };
}

describe('what an attempt has spent', () => {
  it('is told until it is heard, also after a minute without the cluster', async () => {
    const { heard, said, telling } = purse(...Array.from({ length: 60 }, () => unavailable('away')));
    await vi.advanceTimersByTimeAsync(61_000);
    await telling;
    expect([heard, said]).toEqual([['request-1'], []]);
  });

  it('is not told to a purse that is no more', async () => {
    // Neither it nor its history, and it was not opened by another either.
    const { heard, said, telling } = purse(...Array.from({ length: 3 }, () => refused(CODE.NOT_FOUND)));
    await telling;
    expect([heard, said]).toEqual([[], []]);
  });

  it('is given up aloud where the cluster refuses it, or is away for too long', async () => {
    const refusing = purse(refused(CODE.INVALID_ARGUMENT));
    await refusing.telling;
    expect([refusing.heard, refusing.said.length]).toEqual([[], 1]);
    const away = purse(...Array.from({ length: 10_000 }, () => unavailable('away')));
    await vi.advanceTimersByTimeAsync(11 * 60_000);
    await away.telling;
    expect([away.heard, away.said.length]).toEqual([[], 1]);
  });
});

describe('a run whose budget is met', () => {
  const RUN = { workflowId: 'w', runId: 'r' };
  const PURSE_ID = '$purse/1';

  /** A cluster with the run and its purse, on which `meanwhile` happens while the step is being paused. */
  function met(meanwhile: (world: { purse: Purse; run: { paused?: Paused } }) => void) {
    const purse: Purse = { amount: '1', currency: 'USD', spent: '1', root: 'w', waiting: [] };
    const run: { paused?: Paused } = {};
    const service = {
      queryWorkflow: async () => ({ queryResult: toPayloads([JSON.stringify(purse)]) }),
      describeWorkflowExecution: async () => ({
        workflowExecutionInfo: {
          ...{ execution: RUN, status: 1 },
          memo: { fields: { [MEMO.paused]: toPayload(JSON.stringify(run.paused ?? null)) } },
        },
      }),
      signalWorkflowExecution: async ({ workflowExecution, signalName, input }: Signal) => {
        if (workflowExecution.workflowId === PURSE_ID)
          tell(purse, signalName, JSON.parse(fromSingle(input) ?? 'null'));
        else run.paused = pausedAfter(run.paused, signalName, fromPayloads(input));
      },
      pauseActivity: async () => meanwhile({ purse, run }),
    };
    const call = (ask: (of: typeof service) => Promise<unknown>) => ask(service);
    const cluster = { namespace: 'n', identity: 'i', call } as unknown as Cluster;
    const info = { workflowExecution: RUN, activityId: '1', attempt: 1 };
    const refusal = new Budgets(() => cluster, 'me', silentLog).refusal(info as never, PURSE_ID);
    return { purse, run, refusal };
  }

  it('gives an attempt back that nobody can say of whether it may spend, and does not count it', async () => {
    const busy = new PerdureError('TooManyRequestsError', 'as many calls wait as it lets');
    const updates: unknown[] = [];
    const service = {
      queryWorkflow: () => Promise.reject(busy),
      updateActivityOptions: async ({ activityOptions }: { activityOptions: unknown }) =>
        void updates.push(activityOptions),
    };
    const call = (ask: (of: typeof service) => Promise<unknown>) => ask(service);
    const cluster = { namespace: 'n', identity: 'i', call } as unknown as Cluster;
    const info = {
      ...{ workflowExecution: RUN, activityId: '1', attempt: 1 },
      retryPolicy: { maximumAttempts: 1 },
    };
    expect(await new Budgets(() => cluster, 'me', silentLog).refusal(info as never, PURSE_ID)).toMatchObject({
      type: 'RunPaused',
      message: expect.stringContaining('as many calls wait as it lets'),
    });
    expect(updates).toEqual([{ retryPolicy: { maximumAttempts: 2 } }]);
  });

  it('is known to wait, also when a server that found it not yet paused says that it was woken', async () => {
    const { purse, refusal } = met(({ purse }) => tell(purse, PURSE.woken, woken(purse.waiting)));
    expect(await refusal).toMatchObject({ type: 'RunPaused' });
    expect(purse.waiting).toMatchObject([RUN]);
  });

  it('is paused once more when it was let go on for another step meanwhile', async () => {
    const { run, refusal } = met(({ run }) => {
      expect(run.paused).toMatchObject({ by: 'budget' });
      run.paused = undefined;
    });
    expect(await refusal).toMatchObject({ type: 'RunPaused' });
    expect(run.paused).toMatchObject({ by: 'budget' });
  });
});

describe('those who wait for a budget', () => {
  it('are woken by a worker that is never silent for as long as a dead one, however many they are', async () => {
    const described = { workflowExecutionInfo: { execution: { workflowId: 'w', runId: 'r' }, status: 1 } };
    const slow = async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return described;
    };
    const cluster = { namespace: 'n', identity: 'i', call: slow } as unknown as Cluster;
    const waiting = Array.from({ length: 500 }, (_, at) => ({ workflowId: 'w', runId: String(at) }));
    const moments = [Date.now()];
    const note = () => void moments.push(Date.now());
    const woken = new Budgets(() => cluster, 'me', silentLog).wake(waiting, note).then(note);
    await vi.advanceTimersByTimeAsync(600_000);
    await woken;
    const silences = moments.slice(1).map((at, index) => at - moments[index]!);
    expect(Math.max(...silences)).toBeLessThan(5_000);
  });
});

interface Signal {
  workflowExecution: { workflowId: string };
  signalName: string;
  input: ReturnType<typeof toPayloads>;
}
