/**
 * The HTTP server: Fastify with the settings, hooks and routes of the API, in front of any engine.
 *
 * 1. Who calls is decided before the body is read, for every path but /health, /ready and the dashboard's files, known or
 *    not; below /callback by the token in the path, and everywhere else by the credentials.
 * 2. Every answer carries X-Request-ID, and every error body comes from the one table.
 * 3. `close` stops taking calls, answers those that wait with what is known, and resolves when the last one is
 *    answered. It does not close the engine: the server did not open it.
 */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  type onRequestHookHandler,
} from 'fastify';
import { DEFAULT_HTTP_LIMITS, DEFAULT_RUN_TIMEOUT_MS, type HttpLimits } from '../core/bounds/limits.js';
import { PerdureError } from '../core/errors.js';
import { type Log, silentLog } from '../core/log.js';
import { idOfSegment } from '../core/values/id-segment.js';
import { isCatalogName } from '../core/values/names.js';
import { requestId } from '../core/values/request-id.js';
import type { Engine } from '../engine.js';
import { Metrics } from '../telemetry/index.js';
import type { Traces } from '../trace/index.js';
import type { RouteContext } from './context.js';
import { Admission } from './door/admission.js';
import { Arrivals } from './door/arrivals.js';
import { createGate, type Gate, isLoopbackHost, splitTokens } from './door/auth.js';
import { Bodies } from './door/bodies.js';
import { CallQueue } from './door/call-queue.js';
import { Callbacks, isCallbackPath } from './door/callbacks.js';
import { Cors } from './door/cors.js';
import { Malformed } from './door/malformed.js';
import { UpgradableToWebSocketOnly } from './door/upgrade.js';
import { Waits } from './door/waits.js';
import { WrongTokens } from './door/wrong-tokens.js';
import { localUrl } from './local-url.js';
import { metricsRoutes, observeRequests } from './metrics.js';
import { KnownPaths, notFound } from './not-found.js';
import { collectOperations } from './operation.js';
import { whyNotReady } from './readiness.js';
import { backupRoutes } from './routes/backup.js';
import { callbackRoutes } from './routes/callback.js';
import { catalogRoutes } from './routes/catalog.js';
import { controlRoutes } from './routes/control.js';
import { costRoutes } from './routes/cost.js';
import { docsRoutes } from './routes/docs.js';
import { healthRoutes, heartbeatRoutes } from './routes/health.js';
import { historyRoutes } from './routes/history.js';
import { messageRoutes } from './routes/messages.js';
import { pausingRoutes } from './routes/pausing.js';
import { isBrowser, rootRoute } from './routes/root.js';
import { runRoutes } from './routes/runs.js';
import { startRoutes } from './routes/start.js';
import { traceLogRoutes } from './routes/trace-log.js';
import { whyRoutes } from './routes/why.js';
import { workerRoutes } from './routes/workers.js';
import { StartTargets } from './start-target.js';
import { streamRoutes, ticketGate, ticketRoutes } from './stream/routes.js';
import { Streams } from './stream/streams.js';
import { Tickets } from './stream/tickets.js';
import { uiRoutes } from './ui/routes.js';
import { readJsonBodies } from './wire/body.js';
import { sendError } from './wire/errors.js';
import { PayloadCheck } from './wire/payload-check.js';

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
  /** How long `run` waits if its caller does not say. */
  runTimeoutMs?: number;
  /** What is measured, also of other parts; without it `/metrics` tells of the server alone. */
  metrics?: Metrics;
  limits?: Partial<HttpLimits>;
  log?: Log;
  /** Whether the dashboard is served at `/ui/`; it is unless this is false. */
  ui?: boolean;
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
  /** As `/ready` tells it: undefined where it can serve, otherwise why not. */
  whyNotReady(): Promise<string | undefined>;
  close(): Promise<void>;
}

export function createServer(options: ServerOptions): HttpServer {
  const { engine, token, defaultCatalog = 'default', log = silentLog } = options;
  if (!isCatalogName(defaultCatalog)) throw new Error(`"${defaultCatalog}" is not a name for a catalog`);
  const limits = { ...DEFAULT_HTTP_LIMITS, ...options.limits };
  const waits = new Waits(limits.waitingCalls);
  const cors = new Cors(options.corsOrigins ?? []);
  const wrongTokens = new WrongTokens(limits.wrongTokens);
  const gate = createGate(token, (origin) => cors.allows(origin), wrongTokens);
  const payloads = new PayloadCheck(log);
  let draining = false;
  let url = '';
  const context: RouteContext = {
    engine,
    defaultCatalog,
    targets: new StartTargets(engine, payloads),
    arrivals: new Arrivals(),
    callbacks: new Callbacks(engine, wrongTokens),
    runTimeoutMs: options.runTimeoutMs ?? DEFAULT_RUN_TIMEOUT_MS,
    payloads,
    waits,
    bodies: new Bodies(limits),
    traces: options.traces,
    streams: new Streams(engine, limits),
    tickets: new Tickets({ secrets: options.isOneOfSeveral && token ? splitTokens(token) : undefined }),
    metrics: options.metrics ?? new Metrics(),
    isDraining: () => draining,
  };

  const { app, paths, queue } = createApp(limits, gate, cors, log, context.bodies);
  const operations = collectOperations(app);
  const admission = new Admission(app, limits, context.bodies, queue);
  observeRequests(app, context.metrics, queue, options.logCalls ? log : undefined);
  context.metrics.watchServer({
    openStreams: () => context.streams.open,
    waitingCalls: () => waits.size,
  });
  app.register(async (open) => healthRoutes(open, context, log));
  const guard =
    (judge: (request: FastifyRequest) => Verdict | Promise<Verdict>): onRequestHookHandler =>
    (request, reply, done) => {
      const pass = (refusal: Verdict) => {
        if (refusal) {
          leaveUnread(request, reply);
          return done(refusal);
        }
        if (!draining) return admission.enter(request, reply, done);
        reply.header('connection', 'close');
        done(new PerdureError('EngineUnavailableError', 'The server is shutting down'));
      };
      const verdict = judge(request);
      if (verdict instanceof Promise) verdict.then(pass, done);
      else pass(verdict);
    };
  const { ui = true } = options;
  // The page is the same for everybody, and asks for the token itself. Without one, it too is for this machine only.
  const opened = ({ raw }: FastifyRequest) => (token === undefined ? gate(raw) : undefined);
  if (ui) {
    app.register(async (page) => {
      page.addHook('onRequest', guard(opened));
      uiRoutes(page, { wantsToken: token !== undefined });
    });
  }
  app.register(async (root) => {
    root.addHook(
      'onRequest',
      guard((request) => (ui && isBrowser(request) ? opened(request) : gate(request.raw))),
    );
    rootRoute(root, { ui });
  });
  app.register(async (outsiders) => {
    outsiders.addHook(
      'onRequest',
      guard((request) => context.callbacks.refusal(request)),
    );
    callbackRoutes(outsiders, context);
  });
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
    workerRoutes(guarded, context);
    historyRoutes(guarded, context);
    controlRoutes(guarded, context);
    costRoutes(guarded, context);
    pausingRoutes(guarded, context);
    whyRoutes(guarded, context);
    messageRoutes(guarded, context);
    backupRoutes(guarded, context);
    heartbeatRoutes(guarded);
    docsRoutes(guarded, operations, context);
  });

  return {
    raw: app.server,
    whyNotReady: () => whyNotReady(context, log),
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
      await app.listen({ host, port, backlog: limits.backlog });
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

function createApp(
  limits: HttpLimits,
  gate: Gate,
  cors: Cors,
  log: Log,
  bodies: Bodies,
): { app: FastifyInstance; paths: KnownPaths; queue: CallQueue } {
  const malformed = new Malformed();
  const app: FastifyInstance = fastify({
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    http: {
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: 1_000,
      // A peer that is gone without a word is found by the system, also while its call waits.
      keepAlive: true,
      keepAliveInitialDelay: limits.peerProbeMs,
      IncomingMessage: UpgradableToWebSocketOnly,
      // Node's own refusal has no body; the hook below has one.
      requireHostHeader: false,
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
      sendError(refusalOf(gate, request, reply) ?? error, request, reply, log);
    },
    clientErrorHandler: (error, socket) => malformed.refuse(error, socket),
  });
  const queue = new CallQueue(app.server, gate.admits);
  malformed.watch(app.server);
  // An expectation that nobody knows may be left unmet, and Node's own refusal of it has no body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  readJsonBodies(app, limits, bodies);

  const paths = new KnownPaths(app);
  app.addHook('onRequest', (request, reply, done) => {
    stamp(request, reply);
    cors.stamp(request, reply);
    if (lacksHost(request)) {
      // As after anything else that is not HTTP: what comes next on this connection is not to be trusted either.
      reply.header('connection', 'close');
      return done(new PerdureError('ValidationError', 'A request of HTTP/1.1 has to have a Host header'));
    }
    if (cors.answerPreflight(request, reply)) return;
    if (!request.is404) {
      readId(request);
      return done();
    }
    const refusal = refusalOf(gate, request, reply);
    if (refusal) return done(refusal);
    const path = request.url.split('?', 1)[0]!;
    const allowed = paths.allowed(path);
    if (allowed.length > 0) reply.header('allow', allowed.join(', '));
    done(notFound(request.method, path, allowed));
  });
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply, log));
  return { app, paths, queue };
}

/** Whoever reads the id of a workflow off the path, routes and the gate of streams alike, has it as it is. */
function readId({ params }: FastifyRequest): void {
  const path = params as { id?: string };
  if (path.id !== undefined) path.id = idOfSegment(path.id);
}

const lacksHost = ({ raw }: FastifyRequest): boolean =>
  raw.headers.host === undefined && raw.httpVersionMajor === 1 && raw.httpVersionMinor > 0;

/** The headers of every answer. */
function stamp(request: FastifyRequest, reply: FastifyReply): void {
  reply
    .header('x-request-id', request.id)
    .header('x-content-type-options', 'nosniff')
    .header('cache-control', 'no-store');
}

type Verdict = PerdureError | undefined;

/** For what leads to no route. Below the callbacks nobody has credentials, and there is nothing to be found out. */
function refusalOf(gate: Gate, request: FastifyRequest, reply: FastifyReply): Verdict {
  const isCallback = isCallbackPath(request.url);
  const refusal = isCallback ? undefined : gate(request.raw);
  if (refusal || isCallback) leaveUnread(request, reply);
  return refusal;
}

/** Whoever may not call is not worth reading a body of: the connection ends with the answer. */
function leaveUnread(request: FastifyRequest, reply: FastifyReply): void {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  if (encoding !== undefined || (length !== undefined && length !== '0')) reply.header('connection', 'close');
}
