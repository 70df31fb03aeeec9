/** The stream of a run's history, and the tickets with which browsers open it. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { PerdureError } from '../../core/errors.js';
import type { Log } from '../../core/log.js';
import type { RouteContext } from '../context.js';
import type { Gate } from '../door/auth.js';
import { type Call, type Operation, route } from '../operation.js';
import { LATEST, SCOPES, type Scope, selectorOf } from '../scopes.js';
import { tellable } from '../wire/errors.js';
import { flag, IncludePayloads, NoBody, RunId, WorkflowId } from '../wire/schemas.js';
import { parseCursor } from './cursor.js';
import type { Tickets } from './tickets.js';

const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  // The connection has served its purpose when the stream ends, and a server that stops does not wait for it.
  connection: 'close',
};

const LAST_EVENT_ID = 'The `id` of the last batch that the reader has; the stream goes on after it.';

/** A text or several; what it means is judged with the cursor, under its own name of error. */
const LastEventId = z.union([z.string(), z.array(z.string())]).optional();

const StreamQuery = z.object({
  includePayloads: IncludePayloads,
  lastEventId: LastEventId.meta({ type: 'string', description: `${LAST_EVENT_ID} Wins over the header.` }),
  costs: flag()
    .optional()
    .meta({ description: 'Whether the stream also tells what the run spends, as `cost` events.' }),
  ticket: z.string().optional().meta({ description: 'In place of credentials, for browsers.' }),
  runId: RunId.optional(),
});

const streamOperation = (scope: Scope) =>
  ({
    id: `stream${scope.infix}History`,
    method: 'GET',
    path: `${scope.prefix}/history/stream`,
    tag: 'history',
    summary: `The events of ${scope.whose} as they happen`,
    description:
      'Server-sent events: `workflow` once, `history` with an array of events and an `id` to resume after, ' +
      '`done` at the end of the run, `server_error` when something breaks; with `costs=true` also `cost`, without an id: ' +
      'the totals so far, and the records that are new on this connection.',
    isStream: true,
    params: scope.params,
    query: scope.isPinned ? StreamQuery.omit({ runId: true }) : StreamQuery,
    headers: z.object({ 'last-event-id': LastEventId.meta({ type: 'string', description: LAST_EVENT_ID }) }),
    answers: {
      200: { description: 'The stream.', contentType: 'text/event-stream', schema: z.string() },
      204: { description: 'The run is closed and the reader has all of it.' },
    },
    errors: ['WorkflowNotFoundError', 'InvalidLastEventIdError', 'TooManyRequestsError'],
  }) as const satisfies Operation;

/** To be registered behind `ticketGate`. */
export function streamRoutes(app: FastifyInstance, context: RouteContext, log: Log): void {
  for (const scope of SCOPES) {
    const operation = streamOperation(scope);
    route(app, operation, (call) => stream(call, scope, context, log));
  }
}

async function stream(
  { params, query, headers, request, reply }: Call<ReturnType<typeof streamOperation>>,
  scope: Scope,
  { streams, isDraining }: RouteContext,
  log: Log,
): Promise<unknown> {
  const given = query.lastEventId ?? headers['last-event-id'];
  const cursor = parseCursor(given);
  const selector = selectorOf({ rid: (query as z.output<typeof StreamQuery>).runId, ...params });
  const form = {
    includePayloads: query.includePayloads ?? false,
    hasRunInIds: !scope.isPinned,
    costs: query.costs ?? false,
  };

  streams.enter();
  let isServed = false;
  try {
    const beginning = await streams.begin({ selector, cursor, form });
    if (isDraining()) throw new PerdureError('EngineUnavailableError', 'The server is shutting down');
    if (!beginning) return reply.code(204).send();
    if (reply.raw.destroyed) return reply;
    reply.hijack();
    reply.raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...STREAM_HEADERS });
    isServed = true;
    streams.serve(beginning, form, reply.raw, (error) => tellable(error, request, log));
    return reply;
  } finally {
    if (!isServed) streams.leave();
  }
}

const ticketOperation = {
  id: 'createStreamTicket',
  method: 'POST',
  path: `${LATEST.prefix}/stream-ticket`,
  tag: 'history',
  summary: 'A ticket with which a browser opens one stream of the workflow',
  description: 'Good once, within a minute, as `?ticket=`: an EventSource cannot send credentials.',
  params: LATEST.params,
  body: NoBody,
  answers: {
    200: {
      description: 'The ticket.',
      schema: z
        .object({ ticket: z.string(), expiresAt: z.string().meta({ format: 'date-time' }) })
        .meta({ id: 'StreamTicket' }),
    },
  },
  errors: ['WorkflowNotFoundError'],
} as const satisfies Operation;

export function ticketRoutes(app: FastifyInstance, { engine, tickets }: RouteContext): void {
  route(app, ticketOperation, async ({ params, reply }) => {
    await engine.describe({ workflowId: params.id }, { withInput: false });
    const { ticket, expiresAt } = tickets.issue(params.id);
    return reply.send({ ticket, expiresAt: new Date(expiresAt).toISOString() });
  });
}

/** Lets in whom `gate` lets in, and whoever shows a ticket for the workflow. */
export function ticketGate(
  gate: Gate,
  tickets: Tickets,
): (request: FastifyRequest) => PerdureError | undefined {
  return (request) => {
    const refusal = gate(request.raw);
    if (refusal === undefined) return undefined;
    const { ticket } = request.query as { ticket?: unknown };
    const { id } = request.params as { id: string };
    if (typeof ticket !== 'string' || !WorkflowId.safeParse(id).success) return refusal;
    return tickets.redeem(ticket, id) ? undefined : refusal;
  };
}
