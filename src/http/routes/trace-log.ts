/** The trace of a closed run: inlined from the object store, or the path of the local file. */
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { PerdureError } from '../../core/errors.js';
import type { TraceLog } from '../../trace/index.js';
import { JSON_TYPE, type RouteContext } from '../context.js';
import { route } from '../operation.js';
import { SCOPES, type Scope, selectorOf } from '../scopes.js';

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
      answers: {
        200: {
          description: 'The trace from the object store, or the path of its file where there is no store.',
          schema: z.union([RemoteTrace, LocalTrace]),
        },
      },
      errors: ['WorkflowNotFoundError', 'WorkflowNotCompletedError', 'TraceNotAvailableError'],
    },
    async ({ params, reply }) => {
      const run = await engine.describe(selectorOf(params));
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
      const trace = await traces.find(run);
      return trace.source === 'local'
        ? reply.send(trace)
        : reply.header('content-type', JSON_TYPE).send(Readable.from(inlined(trace)));
    },
  );
}

/** Passed on as it comes: a trace may be as large as a history, and many may be asked for at once. */
async function* inlined({
  runId,
  data,
}: Extract<TraceLog, { source: 'remote' }>): AsyncGenerator<string | Buffer> {
  yield `{"source":"remote","runId":${JSON.stringify(runId)},"data":`;
  yield* data as AsyncIterable<Buffer>;
  yield '}';
}
