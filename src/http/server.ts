/**
 * The HTTP server: Fastify with the settings, hooks and routes of the API, in front of any engine.
 *
 * 1. Who calls is decided before the body is read, for every path but /health and /ready, known or not.
 * 2. Every answer carries X-Request-ID, and every error body comes from the one table.
 * 3. `close` stops taking calls, answers those that wait with what is known, and resolves when the last one is
 *    answered. It does not close the engine: the server did not open it.
 */
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  type onRequestHookHandler,
} from 'fastify';
import { PerdureError } from '../core/errors.js';
import { DEFAULT_HTTP_LIMITS, type HttpLimits } from '../core/limits.js';
import { type Log, silentLog } from '../core/log.js';
import { isCatalogName } from '../core/names.js';
import type { Engine } from '../engine.js';
import { Metrics } from '../telemetry/index.js';
import type { Traces } from '../trace/index.js';
import { createGate, type Gate, isLoopbackHost, splitTokens } from './auth.js';
import { readJsonBodies } from './body.js';
import type { RouteContext } from './context.js';
import { Cors } from './cors.js';
import { errorBody, sendError } from './errors.js';
import { metricsRoutes, observeRequests } from './metrics.js';
import { KnownPaths, notFound } from './not-found.js';
import { collectOperations } from './operation.js';
import { PayloadCheck } from './payload-check.js';
import { requestId } from './request-id.js';
import { catalogRoutes } from './routes/catalog.js';
import { controlRoutes } from './routes/control.js';
import { docsRoutes } from './routes/docs.js';
import { healthRoutes, heartbeatRoutes } from './routes/health.js';
import { historyRoutes } from './routes/history.js';
import { messageRoutes } from './routes/messages.js';
import { runRoutes } from './routes/runs.js';
import { startRoutes } from './routes/start.js';
import { traceLogRoutes } from './routes/trace-log.js';
import { StartTargets } from './start-target.js';
import { streamRoutes, ticketGate, ticketRoutes } from './stream/routes.js';
import { Streams } from './stream/streams.js';
import { Tickets } from './stream/tickets.js';
import { UpgradableToWebSocketOnly } from './upgrade.js';
import { Waits } from './waits.js';

export interface ServerOptions {
  engine: Engine;
  /** One secret, or two separated by a comma. Without it the server serves this machine only. */
  token?: string;
  /** Other servers with the same token may answer the same callers, so what this one hands out must be good there. */
  isOneOfSeveral?: boolean;
  /** Where a start goes that names no catalog. */
  defaultCatalog?: string;
  /** Origins of web pages that may call, such as `https://app.example.com`. */
  corsOrigins?: readonly string[];
  /** Where the traces of closed runs come from; without it there are none. */
  traces?: Traces;
  /** What is measured, also of other parts; without it `/metrics` tells of the server alone. */
  metrics?: Metrics;
  limits?: Partial<HttpLimits>;
  log?: Log;
  /** A line at debug for every call; what it costs is paid also when the log drops it. */
  logCalls?: boolean;
}

export interface HttpServer {
  /** Rejects when the port is taken, or when the host is open to others and there is no token. */
  listen(options: { host: string; port: number }): Promise<void>;
  /** Where it listens, as a URL for clients on this machine; empty before. */
  readonly url: string;
  /** What is served, once it listens: each method and path, as `GET /workflow/:id/status`. */
  readonly routes: readonly string[];
  /** The server underneath, for what else shares its port. */
  readonly raw: Server;
  close(): Promise<void>;
}

export function createServer(options: ServerOptions): HttpServer {
  const { engine, token, defaultCatalog = 'default', log = silentLog } = options;
  if (!isCatalogName(defaultCatalog)) throw new Error(`"${defaultCatalog}" is not a name for a catalog`);
  const limits = { ...DEFAULT_HTTP_LIMITS, ...options.limits };
  const waits = new Waits(limits.waitingCalls);
  const cors = new Cors(options.corsOrigins ?? []);
  const gate = createGate(token, (origin) => cors.allows(origin));
  const payloads = new PayloadCheck(log);
  let draining = false;
  let url = '';
  const context: RouteContext = {
    engine,
    defaultCatalog,
    targets: new StartTargets(engine, payloads),
    payloads,
    waits,
    traces: options.traces,
    streams: new Streams(engine, limits),
    tickets: new Tickets({ secrets: options.isOneOfSeveral && token ? splitTokens(token) : undefined }),
    metrics: options.metrics ?? new Metrics(),
    isDraining: () => draining,
  };

  const { app, paths } = createApp(limits, gate, cors, log);
  const operations = collectOperations(app);
  observeRequests(app, context.metrics, options.logCalls ? log : undefined);
  context.metrics.watchServer({
    openStreams: () => context.streams.open,
    waitingCalls: () => waits.size,
  });
  app.register(async (open) => healthRoutes(open, context, log));
  const guard =
    (mayPass: (request: FastifyRequest) => string | undefined): onRequestHookHandler =>
    (request, reply, done) => {
      const refusal = refuse(() => mayPass(request), request, reply);
      if (refusal || !draining) return done(refusal);
      reply.header('connection', 'close');
      done(new PerdureError('EngineUnavailableError', 'The server is shutting down'));
    };
  app.register(async (ticketed) => {
    ticketed.addHook('onRequest', guard(ticketGate(gate, context.tickets)));
    streamRoutes(ticketed, context, log);
  });
  app.register(async (guarded) => {
    guarded.addHook(
      'onRequest',
      guard(({ raw }) => gate(raw)),
    );
    ticketRoutes(guarded, context);
    metricsRoutes(guarded, context);
    startRoutes(guarded, context);
    runRoutes(guarded, context);
    traceLogRoutes(guarded, context);
    catalogRoutes(guarded, context);
    historyRoutes(guarded, context);
    controlRoutes(guarded, context);
    messageRoutes(guarded, context);
    heartbeatRoutes(guarded);
    docsRoutes(guarded, operations);
  });

  return {
    raw: app.server,
    get routes() {
      return paths.all();
    },
    get url() {
      return url;
    },
    async listen({ host, port }) {
      if (token === undefined && !isLoopbackHost(host)) {
        throw new Error(
          `without a token the server listens on loopback only, not on ${host}: set API_AUTH_TOKEN`,
        );
      }
      await app.listen({ host, port });
      url = localUrl(app.server.address() as AddressInfo);
    },
    async close() {
      draining = true;
      waits.drain();
      context.streams.drain();
      // A socket that was opened but never used does not count as idle for Node, and would hold up the close.
      const cutOff = setTimeout(() => app.server.closeAllConnections(), limits.closeGraceMs);
      try {
        await app.close();
      } finally {
        clearTimeout(cutOff);
      }
    },
  };
}

function localUrl({ address, port, family }: AddressInfo): string {
  if (address === '0.0.0.0' || address === '::') return `http://127.0.0.1:${port}`;
  return family === 'IPv6' ? `http://[${address}]:${port}` : `http://${address}:${port}`;
}

function createApp(
  limits: HttpLimits,
  gate: Gate,
  cors: Cors,
  log: Log,
): { app: FastifyInstance; paths: KnownPaths } {
  const app: FastifyInstance = fastify({
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    http: {
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: 1_000,
      IncomingMessage: UpgradableToWebSocketOnly,
    },
    // As much as Node takes in the head of a request: what is too long for an id is told by the schema of the route.
    routerOptions: { maxParamLength: 16_384 },
    trustProxy: false,
    // The hooks below answer in the words of the contract instead.
    return503OnClosing: false,
    requestIdHeader: false,
    genReqId: ({ headers }) => requestId(headers),
    frameworkErrors: (error, request, reply) => {
      stamp(request, reply);
      cors.stamp(request, reply);
      sendError(refuse(gate, request, reply) ?? error, request, reply, log);
    },
    clientErrorHandler: refuseMalformed,
  });
  app.server.maxConnections = limits.connections;
  readJsonBodies(app, limits);

  const paths = new KnownPaths(app);
  app.addHook('onRequest', (request, reply, done) => {
    stamp(request, reply);
    cors.stamp(request, reply);
    if (cors.answerPreflight(request, reply)) return;
    if (!request.is404) return done();
    const refusal = refuse(gate, request, reply);
    if (refusal) return done(refusal);
    const path = request.url.split('?', 1)[0]!;
    const allowed = paths.allowed(path);
    if (allowed.length > 0) reply.header('allow', allowed.join(', '));
    done(notFound(request.method, path, allowed));
  });
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply, log));
  return { app, paths };
}

/** The headers of every answer. */
function stamp(request: FastifyRequest, reply: FastifyReply): void {
  reply
    .header('x-request-id', request.id)
    .header('x-content-type-options', 'nosniff')
    .header('cache-control', 'no-store');
}

function refuse(gate: Gate, request: FastifyRequest, reply: FastifyReply): PerdureError | undefined {
  const reason = gate(request.raw);
  if (reason === undefined) return undefined;
  // Whoever may not call is not worth reading a body of: the connection ends with the answer.
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  if (encoding !== undefined || (length !== undefined && length !== '0')) reply.header('connection', 'close');
  return new PerdureError('UnauthorizedError', reason);
}

const TRANSPORT_STATUS: Record<string, string> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** Answers what is no HTTP request at all; Node has not made a request of it, so nothing else can. */
function refuseMalformed(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const body = errorBody(new PerdureError('ValidationError', 'This is not a valid HTTP request'));
  socket.end(
    [
      `HTTP/1.1 ${TRANSPORT_STATUS[error.code ?? ''] ?? '400 Bad Request'}`,
      `X-Request-ID: ${requestId({})}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}
