/** Whether the process answers, and whether it can serve. Open to everybody: probes carry no token. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Log } from '../../core/log.js';
import type { RouteContext } from '../context.js';
import { route } from '../operation.js';
import { whyNotReady } from '../readiness.js';

export function healthRoutes(app: FastifyInstance, context: RouteContext, log: Log): void {
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
      const reason = await whyNotReady(context, log);
      return reason === undefined
        ? reply.send({ status: 'ready' })
        : reply.code(503).send({ status: 'unavailable', reason });
    },
  );
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
