/** The trace of a closed run: inlined from the object store, or the path of the local file. */
import { pipeline, type Readable, Transform } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { PerdureError } from '../../core/errors.js';
import { JSON_TYPE, type RouteContext } from '../context.js';
import { route } from '../operation.js';
import { SCOPES, type Scope, selectorOf } from '../scopes.js';
import { flag } from '../wire/schemas.js';

const TraceLogQuery = z.object({
  inline: flag().optional().meta({
    description: 'Whether a local trace comes with the answer. One from the object store always does.',
  }),
});

const RunId = z.string().meta({ format: 'uuid' });

const RemoteTrace = z
  .object({
    source: z.literal('remote'),
    runId: RunId,
    data: z.record(z.string(), z.unknown()).meta({ description: 'The trace itself: the run as a tree.' }),
  })
  .meta({ id: 'RemoteTraceLog' });

const LocalTrace = z
  .object({
    source: z.literal('local'),
    runId: RunId,
    localPath: z.string().meta({ description: "Absolute path of a file on the server's machine." }),
    data: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: 'The trace itself, where `inline` asks for it and this server has the file.' }),
  })
  .meta({ id: 'LocalTraceLog' });

export function traceLogRoutes(app: FastifyInstance, context: RouteContext): void {
  for (const scope of SCOPES) traceLogRoute(app, context, scope);
}

function traceLogRoute(app: FastifyInstance, { engine, traces }: RouteContext, scope: Scope): void {
  route(
    app,
    {
      id: `get${scope.infix}TraceLog`,
      method: 'GET',
      path: `${scope.prefix}/trace-log`,
      tag: 'runs',
      summary: `Trace of ${scope.whose}, once it is closed`,
      params: scope.params,
      query: TraceLogQuery,
      answers: {
        200: {
          description: 'The trace from the object store, or the path of its file where there is no store.',
          schema: z.union([RemoteTrace, LocalTrace]),
        },
      },
      errors: [
        'WorkflowNotFoundError',
        'WorkflowNotCompletedError',
        'TraceNotAvailableError',
        'StorageFullError',
      ],
    },
    async ({ params, query: { inline }, reply }) => {
      const run = await engine.describe(selectorOf(params), { withInput: false });
      const { workflowId, runId, status } = run;
      if (status === 'running') {
        const message = 'The workflow is still running; its trace is there when it has ended';
        throw new PerdureError('WorkflowNotCompletedError', message, { workflowId, runId });
      }
      if (!traces) {
        throw new PerdureError('TraceNotAvailableError', 'This server keeps no traces', {
          workflowId,
          runId,
        });
      }
      const { data, ...place } = await traces.find(run, { isInlined: inline });
      if (!data) return reply.send(place);
      return reply.header('content-type', JSON_TYPE).send(inlined(place, data));
    },
  );
}

/**
 * Passed on as it comes: a trace may be as large as a history, and many may be asked for at once. It ends with its reader,
 * also while it waits for a store that has stopped in the middle.
 */
function inlined(place: object, data: Readable): Readable {
  const answer = new Transform({
    transform: (chunk, _encoding, done) => done(null, chunk),
    flush: (done) => done(null, '}'),
  });
  answer.push(`${JSON.stringify(place).slice(0, -1)},"data":`);
  // Whoever reads it is told of a failure.
  pipeline(data, answer, () => {});
  return answer;
}
