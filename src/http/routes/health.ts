/** Whether the process answers, and whether it can serve. Open to everybody: probes carry no token. */
import type { FastifyInstance } from 'fastify';
import { PerdureError } from '../../core/errors.js';
import type { Log } from '../../core/log.js';
import type { RouteContext } from '../context.js';

export function healthRoutes(app: FastifyInstance, { engine, isDraining }: RouteContext, log: Log): void {
  app.get('/health', (_request, reply) => reply.send({ status: 'ok' }));

  app.get('/ready', async (_request, reply) => {
    if (isDraining())
      return reply.code(503).send({ status: 'unavailable', reason: 'the server is shutting down' });
    try {
      await engine.ready();
    } catch (error) {
      // Anybody may ask, so only what is written for callers is told.
      const reason = error instanceof PerdureError ? error.message : 'the engine cannot serve';
      if (!(error instanceof PerdureError)) log.error({ err: error }, 'the engine is not ready');
      return reply.code(503).send({ status: 'unavailable', reason });
    }
    return reply.send({ status: 'ready' });
  });
}
