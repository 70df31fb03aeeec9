/** A purse that nobody answers for is read from its history, and never waited for without end. */
import { expect, it } from 'vitest';
import type { Cluster } from '../cluster/connection.js';
import { PURSE } from '../cluster/conventions.js';
import { CODE, RefusedCall } from '../cluster/errors.js';
import { toPayloads } from '../translate/payload.js';
import { readPurse } from './purses.js';

const refused = (code: number) => new RefusedCall({ code, details: 'no' } as never, new Map());
const said = (value: unknown) => toPayloads([JSON.stringify(value)]);
const EVENTS = [
  {
    workflowExecutionStartedEventAttributes: {
      input: said({ amount: '5', currency: 'USD', spent: '1', root: 'w', waiting: [] }),
    },
  },
  {
    workflowExecutionSignaledEventAttributes: {
      signalName: PURSE.spent,
      input: said({ id: '1', costs: [{ currency: 'USD', amount: '2' }] }),
    },
  },
];

/** Refuses queries with that code, until a worker that has a turn of the purse has been seen for so many looks. */
function clusterThat(code: number, history: () => object = () => ({ events: EVENTS }), turnForLooks = 0) {
  const bounds: unknown[] = [];
  let looks = 0;
  const service = {
    queryWorkflow: async () => {
      if (turnForLooks === 0 || looks < turnForLooks) throw refused(code);
      return { queryResult: said({ spent: '4' }) };
    },
    describeWorkflowExecution: async () => ({
      workflowExecutionInfo: { execution: { workflowId: '$purse/1', runId: 'r' }, status: 1 },
      ...(looks++ < turnForLooks && { pendingWorkflowTask: { attempt: 1, startedTime: { seconds: 1 } } }),
    }),
    getWorkflowExecutionHistory: async () => ({ history: history() }),
  };
  const call = (ask: (of: typeof service) => Promise<unknown>, options?: object) => {
    bounds.push(options);
    return ask(service);
  };
  return { cluster: { namespace: 'n', identity: 'i', call } as unknown as Cluster, bounds };
}

it.each([
  ['does not answer in time', CODE.DEADLINE_EXCEEDED],
  ['is nowhere', CODE.FAILED_PRECONDITION],
  ['fails to answer', CODE.INVALID_ARGUMENT],
])('is read from its history when its worker %s', async (_, code) => {
  const { cluster, bounds } = clusterThat(code);
  expect(await readPurse(cluster, '$purse/1')).toMatchObject({ amount: '5', spent: '3' });
  expect(bounds[0]).toMatchObject({ timeoutMs: expect.any(Number), isPoll: true });
});

it('is asked again while a worker has a turn of it, of which the history does not tell all yet', async () => {
  const { cluster } = clusterThat(CODE.DEADLINE_EXCEEDED, undefined, 2);
  expect(await readPurse(cluster, '$purse/1')).toMatchObject({ spent: '4' });
});

it('is not known while its worker does not come to an end', async () => {
  const { cluster, bounds } = clusterThat(CODE.DEADLINE_EXCEEDED, undefined, Number.POSITIVE_INFINITY);
  await expect(readPurse(cluster, '$purse/1', { withinMs: 500 })).rejects.toMatchObject({
    name: 'EngineUnavailableError',
  });
  // Whoever asks has no more time than that.
  expect(bounds[0]).toMatchObject({ timeoutMs: 250 });
});

it('is none where the cluster has forgotten it', async () => {
  const forgotten = () => {
    throw refused(CODE.NOT_FOUND);
  };
  expect(await readPurse(clusterThat(CODE.NOT_FOUND, forgotten).cluster, '$purse/1')).toBeUndefined();
});
