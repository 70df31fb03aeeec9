/**
 * What operators see of the calls: a metric and a span for each, a line in the log at debug, and `GET /metrics`.
 * The query of a call is in none of them: it may carry a ticket.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Log } from '../core/log.js';
import { type Metrics, type RequestSpan, registeredSpans } from '../telemetry/index.js';
import type { RouteContext } from './context.js';
import { pathOf } from './errors.js';
import { route } from './operation.js';

/** Notes every request that `app` gets. */
export function observeRequests(app: FastifyInstance, metrics: Metrics, callLog: Log | undefined): void {
  app.addHook('onResponse', (request, reply, done) => {
    if (!isStream(request)) {
      metrics.requestEnded(request.method, routeOf(request), reply.statusCode, reply.elapsedTime);
    }
    done();
  });
  if (callLog) logRequests(app, callLog);
  traceRequests(app);
}

function logRequests(app: FastifyInstance, log: Log): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { id: requestId, method } = request;
    const durationMs = Math.round(reply.elapsedTime);
    log.debug({ requestId, method, path: pathOf(request), status: reply.raw.statusCode, durationMs }, 'call');
    done();
  });
}

function traceRequests(app: FastifyInstance): void {
  const spans = registeredSpans();
  if (!spans) return;
  const open = new WeakMap<FastifyRequest, RequestSpan>();
  app.addHook('onRequest', (request, _reply, done) => {
    const span = spans.request(request.method, request.headers);
    open.set(request, span);
    span.within(done);
  });
  app.addHook('onResponse', (request, reply, done) => {
    open.get(request)?.end(routeOf(request), reply.raw.statusCode);
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
