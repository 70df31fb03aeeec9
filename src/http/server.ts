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
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { PerdureError } from '../core/errors.js';
import { DEFAULT_HTTP_LIMITS, type HttpLimits } from '../core/limits.js';
import { type Log, silentLog } from '../core/log.js';
import { isCatalogName } from '../core/names.js';
import type { Engine } from '../engine.js';
import { createGate, type Gate, isLoopbackHost } from './auth.js';
import { readJsonBodies } from './body.js';
import type { RouteContext } from './context.js';
import { errorBody, sendError } from './errors.js';
import { KnownPaths, notFound } from './not-found.js';
import { requestId } from './request-id.js';
import { catalogRoutes } from './routes/catalog.js';
import { healthRoutes } from './routes/health.js';
import { runRoutes } from './routes/runs.js';
import { startRoutes } from './routes/start.js';
import { StartTargets } from './start-target.js';
import { UpgradableToWebSocketOnly } from './upgrade.js';
import { Waits } from './waits.js';

export interface ServerOptions {
  engine: Engine;
  /** One secret, or two separated by a comma. Without it the server serves this machine only. */
  token?: string;
  /** Where a start goes that names no catalog. */
  defaultCatalog?: string;
  limits?: Partial<HttpLimits>;
  log?: Log;
}

export interface HttpServer {
  /** Rejects when the port is taken, or when the host is open to others and there is no token. */
  listen(options: { host: string; port: number }): Promise<void>;
  /** Where it listens, as a URL for clients on this machine; empty before. */
  readonly url: string;
  /** The server underneath, for what else shares its port. */
  readonly raw: Server;
  close(): Promise<void>;
}

export function createServer(options: ServerOptions): HttpServer {
  const { engine, token, defaultCatalog = 'default', log = silentLog } = options;
  if (!isCatalogName(defaultCatalog)) throw new Error(`"${defaultCatalog}" is not a name for a catalog`);
  const limits = { ...DEFAULT_HTTP_LIMITS, ...options.limits };
  const waits = new Waits(limits.waitingCalls);
  const gate = createGate(token);
  let draining = false;
  let url = '';
  const context: RouteContext = {
    engine,
    defaultCatalog,
    targets: new StartTargets(engine, log),
    waits,
    isDraining: () => draining,
  };

  const app = createApp(limits, gate, log);
  app.register(async (open) => healthRoutes(open, context, log));
  app.register(async (guarded) => {
    guarded.addHook('onRequest', (request, reply, done) => {
      const refusal = refuse(gate, request, reply);
      if (refusal || !draining) return done(refusal);
      reply.header('connection', 'close');
      done(new PerdureError('EngineUnavailableError', 'The server is shutting down'));
    });
    startRoutes(guarded, context);
    runRoutes(guarded, context);
    catalogRoutes(guarded, context);
  });

  return {
    raw: app.server,
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

function createApp(limits: HttpLimits, gate: Gate, log: Log): FastifyInstance {
  const app: FastifyInstance = fastify({
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    http: {
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: 1_000,
      IncomingMessage: UpgradableToWebSocketOnly,
    },
    // An id of 255 characters takes up to nine times that when percent-encoded.
    routerOptions: { maxParamLength: 4_096 },
    trustProxy: false,
    // The hooks below answer in the words of the contract instead.
    return503OnClosing: false,
    requestIdHeader: false,
    genReqId: ({ headers }) => requestId(headers),
    frameworkErrors: (error, request, reply) => {
      stamp(request, reply);
      sendError(refuse(gate, request, reply) ?? error, request, reply, log);
    },
    clientErrorHandler: refuseMalformed,
  });
  app.server.maxConnections = limits.connections;
  readJsonBodies(app, limits);

  const paths = new KnownPaths(app);
  app.addHook('onRequest', (request, reply, done) => {
    stamp(request, reply);
    if (!request.is404) return done();
    const refusal = refuse(gate, request, reply);
    if (refusal) return done(refusal);
    const path = request.url.split('?', 1)[0]!;
    const allowed = paths.allowed(path);
    if (allowed.length > 0) reply.header('allow', allowed.join(', '));
    done(notFound(request.method, path, allowed));
  });
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply, log));
  return app;
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
