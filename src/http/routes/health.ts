/** Whether the process answers, and whether it can serve. Open to everybody: probes carry no token. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { PerdureError } from '../../core/errors.js';
import type { Log } from '../../core/log.js';
import type { RouteContext } from '../context.js';
import { route } from '../operation.js';

export function healthRoutes(app: FastifyInstance, { engine, isDraining }: RouteContext, log: Log): void {
  route(
    app,
    {
      id: 'getHealth',
      method: 'GET',
      path: '/health',
      tag: 'service',
      summary: 'Whether the process answers',
      isOpen: true,
      answers: { 200: { description: 'It does.', schema: z.object({ status: z.literal('ok') }) } },
    },
    ({ reply }) => reply.send({ status: 'ok' }),
  );

  route(
    app,
    {
      id: 'getReadiness',
      method: 'GET',
      path: '/ready',
      tag: 'service',
      summary: 'Whether the service can serve',
      isOpen: true,
      answers: {
        200: { description: 'It can.', schema: z.object({ status: z.literal('ready') }) },
        503: {
          description: 'The engine cannot serve, or the server is shutting down.',
          schema: z.object({ status: z.literal('unavailable'), reason: z.string() }),
        },
      },
    },
    async ({ reply }) => {
      if (isDraining())
        return reply.code(503).send({ status: 'unavailable', reason: 'the server is shutting down' });
      try {
        await engine.ready();
      } catch (error) {
        const reason = reasonOf(error);
        if (!(error instanceof PerdureError)) log.error({ err: error }, 'the engine is not ready');
        return reply.code(503).send({ status: 'unavailable', reason });
      }
      return reply.send({ status: 'ready' });
    },
  );
}

/** Anybody may ask, so only what is written for callers is told. A full disk has a word of its own, for alarms to match. */
function reasonOf(error: unknown): string {
  if (!(error instanceof PerdureError)) return 'the engine cannot serve';
  return error.name === 'StorageFullError' ? 'storage-full' : error.message;
}

/** Behind the credentials, so that a test of a deployment shows that they work. */
export function heartbeatRoutes(app: FastifyInstance): void {
  route(
    app,
    {
      id: 'heartbeat',
      method: 'POST',
      path: '/heartbeat',
      tag: 'service',
      summary: 'Does nothing; for tests of a deployment',
      answers: { 204: { description: 'The call came through.' } },
    },
    ({ reply }) => reply.code(204).send(),
  );
}
