/**
 * What operators see of the calls: a metric and a span for each, a line in the log at debug, and `GET /metrics`.
 * The query of a call is in none of them: it may carry a ticket.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Log } from '../core/log.js';
import type { Metrics } from '../telemetry/index.js';
import { traceRequests } from './caller-trace.js';
import type { RouteContext } from './context.js';
import type { CallQueue } from './door/call-queue.js';
import { route } from './operation.js';
import { pathOf } from './wire/errors.js';

/** Notes every request that `app` gets. */
export function observeRequests(
  app: FastifyInstance,
  metrics: Metrics,
  queue: CallQueue,
  callLog: Log | undefined,
): void {
  const durationMs = (request: FastifyRequest, reply: FastifyReply) =>
    queue.waitedMs(request.raw) + reply.elapsedTime;
  app.addHook('onResponse', (request, reply, done) => {
    if (!isStream(request)) {
      metrics.requestEnded(request.method, routeOf(request), reply.statusCode, durationMs(request, reply));
    }
    done();
  });
  if (callLog) logRequests(app, callLog, durationMs);
  traceRequests(app, queue, routeOf);
}

function logRequests(
  app: FastifyInstance,
  log: Log,
  took: (request: FastifyRequest, reply: FastifyReply) => number,
): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { id: requestId, method } = request;
    const durationMs = Math.round(took(request, reply));
    log.debug({ requestId, method, path: pathOf(request), status: reply.raw.statusCode, durationMs }, 'call');
    done();
  });
}

/** A stream takes as long as its reader likes. */
const isStream = ({ routeOptions }: FastifyRequest) => routeOptions.config.operation?.isStream === true;

/** As it was written in the code; whatever path does not exist is one to us. */
const routeOf = ({ is404, routeOptions }: FastifyRequest) => (is404 ? 'none' : (routeOptions.url ?? 'none'));

export function metricsRoutes(app: FastifyInstance, { metrics }: RouteContext): void {
  route(
    app,
    {
      id: 'getMetrics',
      method: 'GET',
      path: '/metrics',
      tag: 'service',
      summary: 'What Prometheus collects',
      answers: {
        200: { description: 'The metrics, as text.', contentType: 'text/plain', schema: z.string() },
      },
    },
    async ({ reply }) => reply.header('content-type', metrics.contentType).send(await metrics.text()),
  );
}
