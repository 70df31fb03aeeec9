/** A purse that nobody answers for is read from its history, by workers as by servers, and never waited for without end. */
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

/** Refuses the query with that code. */
function clusterThat(code: number, history: () => object = () => ({ events: EVENTS })) {
  const bounds: unknown[] = [];
  const service = {
    queryWorkflow: () => Promise.reject(refused(code)),
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

it('is none where the cluster has forgotten it', async () => {
  const forgotten = () => {
    throw refused(CODE.NOT_FOUND);
  };
  expect(await readPurse(clusterThat(CODE.NOT_FOUND, forgotten).cluster, '$purse/1')).toBeUndefined();
});
