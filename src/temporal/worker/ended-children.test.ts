/** A run that was reset is told of each child that has ended meanwhile, whatever is in the way. */
import { expect, it } from 'vitest';
import { type Log, silentLog } from '../../core/log.js';
import type { Cluster } from '../cluster/connection.js';
import type { EndedChild } from '../cluster/conventions.js';
import { CODE, type GrpcError, RefusedCall, unavailable } from '../cluster/errors.js';
import { fromPayloads, type ProtoPayload, toPayloads } from '../translate/payload.js';
import { tellsOfEndedChildren } from './ended-children.js';

const RUN = { workflowId: 'parent', runId: 'r' };
/** Numbers of Temporal's enums. */
const [RUNNING, COMPLETED] = [1, 2];
const WORKFLOW_EXECUTION_COMPLETED = 2;

type Children = Record<string, 'running' | 'completed' | 'removed'>;
interface Told extends EndedChild {
  requestId: string;
  result: string | undefined;
}

class World {
  readonly told: Told[] = [];
  /** How many calls find no cluster. */
  away = 0;

  constructor(private readonly children: Children) {}

  readonly #service = {
    describeWorkflowExecution: async ({ execution }: { execution: { workflowId: string } }) => {
      const { workflowId } = execution;
      if (this.children[workflowId] === 'removed') throw notFound();
      const status = this.children[workflowId] === 'completed' ? COMPLETED : RUNNING;
      const pendingChildren = Object.keys(this.children).map((id) => ({ workflowId: id, runId: `of ${id}` }));
      return {
        workflowExecutionInfo: { execution, status },
        ...(workflowId === RUN.workflowId && { pendingChildren }),
      };
    },
    getWorkflowExecutionHistory: async () => ({
      history: {
        events: [
          {
            ...{ eventId: 9, eventType: WORKFLOW_EXECUTION_COMPLETED },
            workflowExecutionCompletedEventAttributes: { result: toPayloads(['"done"']) },
          },
        ],
      },
    }),
    signalWorkflowExecution: async (request: { requestId: string; input: { payloads: ProtoPayload[] } }) => {
      const [told = '', result] = fromPayloads(request.input);
      this.told.push({ ...(JSON.parse(told) as EndedChild), requestId: request.requestId, result });
    },
  };

  readonly cluster = {
    ...{ namespace: 'n', identity: 'i' },
    call: async (ask: (of: unknown) => Promise<unknown>) => {
      if (this.away-- > 0) throw unavailable('the cluster is away');
      return ask(this.#service);
    },
  } as unknown as Cluster;

  tell(children: string[], log: Log = silentLog): Promise<void> {
    return tellsOfEndedChildren(() => this.cluster, log)(RUN, children);
  }
}

function notFound(): RefusedCall {
  return new RefusedCall({ code: CODE.NOT_FOUND, details: 'gone' } as GrpcError, new Map());
}

it('of those that it waits for and that have ended, with what came of them', async () => {
  const world = new World({ ended: 'completed', goesOn: 'running', other: 'completed' });
  await world.tell(['ended', 'goesOn']);
  expect(world.told).toMatchObject([{ workflowId: 'ended', end: 'completed', result: '"done"' }]);
});

it('under the same name again, so that the cluster takes it once', async () => {
  const world = new World({ one: 'completed', two: 'completed' });
  await world.tell(['one', 'two']);
  await world.tell(['one', 'two']);
  expect(world.told).toHaveLength(4);
  expect(new Set(world.told.map(({ requestId }) => requestId)).size).toBe(2);
});

it('of one that nobody knows any more as failed, and of the others all the same', async () => {
  const world = new World({ gone: 'removed', ended: 'completed' });
  await world.tell(['gone', 'ended']);
  expect(world.told.sort((a, b) => a.workflowId.localeCompare(b.workflowId))).toMatchObject([
    { workflowId: 'ended', end: 'completed' },
    { workflowId: 'gone', end: 'failed', failure: { type: 'WorkflowNotFoundError' } },
  ]);
});

it('once the cluster is there again', async () => {
  const world = new World({ ended: 'completed' });
  world.away = 2;
  await world.tell(['ended']);
  expect(world.told).toMatchObject([{ workflowId: 'ended' }]);
});
