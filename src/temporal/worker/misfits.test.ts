/** Which turns a worker gives back that its code cannot make, and when. */
import { EventEmitter } from 'node:events';
import type { Worker } from '@temporalio/worker';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { silentLog } from '../../core/log.js';
import type { Cluster } from '../cluster/connection.js';
import { Misfits } from './misfits.js';
import { turnToken } from './turn-token.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const RUN = { workflowId: 'w', runId: 'r' };
const NONDETERMINISM = 3;
const CACHE_FULL = 1;
const failedBy = (identity: string, eventId = 4) => ({
  eventId,
  workflowTaskFailedEventAttributes: { identity },
});

/** A worker of a cluster that says of the run what the test wants it to. */
function setUp() {
  const said = {
    turn: { state: 2, attempt: 2, startedTime: { seconds: 7, nanos: 0 } },
    last: failedBy('another') as object,
    others: 'pool-2',
    /** What the cluster says of a run it says when this is over. */
    asked: Promise.resolve(),
  };
  const givenBack: { taskToken: Buffer; identity: string }[] = [];
  const service = {
    describeNamespace: async () => ({ namespaceInfo: { id: 'n' } }),
    describeWorkflowExecution: async () => {
      await said.asked;
      return { pendingWorkflowTask: said.turn };
    },
    getWorkflowExecutionHistoryReverse: async () => ({ history: { events: [said.last] } }),
    respondWorkflowTaskFailed: async (request: (typeof givenBack)[number]) => void givenBack.push(request),
  };
  const cluster = {
    namespace: 'default',
    call: (ask: (of: typeof service) => Promise<unknown>) => ask(service),
  } as unknown as Cluster;
  const worker = {
    workflowCreator: { createWorkflow: async () => ({}) },
    evictionsEmitter: new EventEmitter(),
  };
  const misfits = new Misfits(cluster, 'me', async () => said.others, silentLog);
  misfits.attend(worker as unknown as Worker);
  const takeTurn = async (reason = NONDETERMINISM) => {
    await (worker.workflowCreator.createWorkflow as (options: object) => Promise<object>)({ info: RUN });
    worker.evictionsEmitter.emit('eviction', { runId: RUN.runId, evictJob: { reason } });
    await vi.advanceTimersByTimeAsync(0);
  };
  return { said, givenBack, misfits, takeTurn };
}

describe('a turn that the code cannot make', () => {
  test('is given back by its name while others are there', async () => {
    const { said, givenBack, takeTurn } = setUp();
    await takeTurn();
    await vi.advanceTimersByTimeAsync(100);
    const { attempt, startedTime } = said.turn;
    const name = { namespaceId: 'n', ...RUN, attempt, startedTime: startedTime as never };
    expect(givenBack).toEqual([
      expect.objectContaining({
        identity: 'me',
        taskToken: turnToken({ ...name, lastEventId: 4, version: 0 }),
      }),
    ]);
  });

  test('is left alone when core has said that it failed: the next one is somebody else’s', async () => {
    const { said, givenBack, takeTurn } = setUp();
    said.last = failedBy('me');
    await takeTurn();
    await vi.advanceTimersByTimeAsync(100_000);
    expect(givenBack).toEqual([]);
    // And that is ours again.
    await takeTurn();
    await vi.advanceTimersByTimeAsync(100);
    expect(givenBack).toHaveLength(1);
  });

  test.each([
    ['the run has gone on', { last: { eventId: 4, workflowTaskCompletedEventAttributes: {} } }],
    [
      'nobody has the next one yet',
      { turn: { state: 1, attempt: 3, startedTime: { seconds: 7, nanos: 0 } } },
    ],
    ['it is a first try', { turn: { state: 2, attempt: 1, startedTime: { seconds: 7, nanos: 0 } } }],
  ])('is left alone when %s', async (_why, change) => {
    const { said, givenBack, takeTurn } = setUp();
    Object.assign(said, change);
    await takeTurn();
    await vi.advanceTimersByTimeAsync(100_000);
    expect(givenBack).toEqual([]);
  });

  test('stays until somebody comes who may fit', async () => {
    const { said, givenBack, takeTurn } = setUp();
    said.others = '';
    await takeTurn();
    await vi.advanceTimersByTimeAsync(100_000);
    expect(givenBack).toEqual([]);
    said.others = 'pool-3';
    await vi.advanceTimersByTimeAsync(2_000);
    expect(givenBack).toHaveLength(1);
  });

  test('is given back ever later while nobody fits, and at once to those who come', async () => {
    const { said, givenBack, takeTurn } = setUp();
    for (let tries = 1; tries < 10; tries++) {
      await takeTurn();
      await vi.advanceTimersByTimeAsync(10_000);
      expect(givenBack).toHaveLength(tries);
    }
    await takeTurn();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(givenBack).toHaveLength(9);
    said.others = 'pool-2 pool-3';
    await vi.advanceTimersByTimeAsync(2_000);
    expect(givenBack).toHaveLength(10);
    await takeTurn();
    await vi.advanceTimersByTimeAsync(100);
    expect(givenBack).toHaveLength(11);
  });

  test('of a run that has gone on is given back as soon as the first', async () => {
    const { said, givenBack, takeTurn } = setUp();
    for (let tries = 1; tries < 10; tries++) {
      await takeTurn();
      await vi.advanceTimersByTimeAsync(10_000);
    }
    said.last = failedBy('another', 40);
    await takeTurn();
    await vi.advanceTimersByTimeAsync(100);
    expect(givenBack).toHaveLength(10);
  });

  test('is given back when the worker leaves while it is still looked at', async () => {
    const { said, givenBack, misfits, takeTurn } = setUp();
    said.others = '';
    let answer = () => {};
    said.asked = new Promise((resolve) => {
      answer = resolve;
    });
    await takeTurn();
    const left = misfits.leave();
    await vi.advanceTimersByTimeAsync(0);
    answer();
    await left;
    expect(givenBack).toHaveLength(1);
  });

  test('is given back when the worker leaves where the cluster gave it to a poll that was cut off', async () => {
    const { said, givenBack, misfits, takeTurn } = setUp();
    said.last = failedBy('me');
    Object.assign(said.turn, { state: 1 });
    await takeTurn();
    Object.assign(said.turn, { state: 2 });
    await misfits.leave();
    expect(givenBack).toHaveLength(1);
  });

  test('is left alone when the worker leaves long after', async () => {
    const { said, givenBack, misfits, takeTurn } = setUp();
    said.last = failedBy('me');
    await takeTurn();
    await vi.advanceTimersByTimeAsync(10 * 60_000);
    await misfits.leave();
    expect(givenBack).toEqual([]);
  });

  test('is given back when the worker leaves', async () => {
    const { said, givenBack, misfits, takeTurn } = setUp();
    said.others = '';
    await takeTurn();
    await misfits.leave();
    expect(givenBack).toHaveLength(1);
  });
});

test('a run that only leaves the cache is not asked for', async () => {
  const { givenBack, takeTurn } = setUp();
  await takeTurn(CACHE_FULL);
  await vi.advanceTimersByTimeAsync(100_000);
  expect(givenBack).toEqual([]);
});
