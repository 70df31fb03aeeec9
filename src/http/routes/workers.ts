/** Which workers there are, with the code they run and how much they have to do. */
import type { FastifyInstance } from 'fastify';
import type { WorkerDescription } from '../../engine.js';
import type { RouteContext } from '../context.js';
import { route } from '../operation.js';
import { WorkersAnswer } from '../wire/answers.js';

export function workerRoutes(app: FastifyInstance, { engine }: RouteContext): void {
  route(
    app,
    {
      id: 'listWorkers',
      method: 'GET',
      path: '/workers',
      tag: 'service',
      summary: 'The workers that are connected, with the code they run',
      answers: { 200: { description: 'The workers, by catalog.', schema: WorkersAnswer } },
    },
    async ({ reply }) => {
      const [workers, catalogs] = await Promise.all([engine.workers(), engine.catalogNames()]);
      return reply.send({ workers: workers.map(listing), catalogs });
    },
  );
}

function listing({ connectedAt, lastSeenAt, ...worker }: WorkerDescription): object {
  const { id, catalog, host, pid, ...others } = worker;
  return {
    ...{ id, catalog, host, pid },
    connectedAt: connectedAt === null ? null : new Date(connectedAt).toISOString(),
    lastSeenAt: new Date(lastSeenAt).toISOString(),
    ...others,
  };
}
