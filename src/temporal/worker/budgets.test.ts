/** What a worker tells a purse: heard, however long the cluster is away, and given up only where nobody hears. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { costOf } from '../../core/cost/cost.js';
import { silentLog } from '../../core/log.js';
import type { Cluster } from '../cluster/connection.js';
import { CODE, RefusedCall, unavailable } from '../cluster/errors.js';
import { Budgets } from './budgets.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const RECORD = { ...costOf({ amount: '1' }), at: 1, stepName: 's', activityId: '1', attempt: 1 };
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
  const telling = new Budgets(() => cluster, 'me', log).spent('$purse/1', [RECORD], 'request-1');
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
