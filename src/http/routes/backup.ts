/** A copy of everything, for whoever operates the service. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { RouteContext } from '../context.js';
import { route } from '../operation.js';
import { NoBody } from '../wire/schemas.js';

export const BACKUP_TYPE = 'application/vnd.sqlite3';

export function backupRoutes(app: FastifyInstance, { engine }: RouteContext): void {
  route(
    app,
    {
      id: 'takeBackup',
      method: 'POST',
      path: '/backup',
      tag: 'service',
      summary: 'A consistent copy of the database, made while the service goes on',
      description:
        'As of some moment during the call. As "perdure.db" in an empty data folder it is what a server starts from.',
      isStream: true,
      body: NoBody,
      answers: {
        200: {
          description: 'The database; complete if it has as many bytes as Content-Length says.',
          contentType: BACKUP_TYPE,
          schema: z.string().meta({ format: 'binary' }),
        },
      },
      errors: ['NotSupportedByEngineError', 'StorageFullError', 'TooManyRequestsError'],
    },
    async ({ reply }) => {
      const backup = await engine.backup();
      if (reply.raw.destroyed) {
        await backup.discard();
        return reply;
      }
      const name = `perdure-${new Date().toISOString().replaceAll(/[:.]/g, '-')}.db`;
      return reply
        .header('content-type', BACKUP_TYPE)
        .header('content-length', backup.bytes)
        .header('content-disposition', `attachment; filename="${name}"`)
        .header('cache-control', 'no-store')
        .send(backup.read());
    },
  );
}
