/** Starting workflows: `run` waits for the result, `start` does not. */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { PerdureError } from '../../core/errors.js';
import { DEFAULT_RUN_TIMEOUT_MS } from '../../core/limits.js';
import type { RunRef, StartRequest } from '../../engine.js';
import { JSON_TYPE, type RouteContext } from '../context.js';
import { markDeprecated } from '../deprecation.js';
import { resultText } from '../result.js';
import { IdempotencyKey, parse, RunBody, StartBody } from '../schemas.js';

export function startRoutes(app: FastifyInstance, context: RouteContext): void {
  app.post('/workflow/start', async (request, reply) => {
    const body = parse(StartBody, request.body);
    const { workflowId, runId } = await start(context, body, request, reply);
    return reply
      .header('content-type', JSON_TYPE)
      .send(`{"workflowId":${JSON.stringify(workflowId)},"runId":"${runId}"}`);
  });

  app.post('/workflow/run', async (request, reply) => {
    const body = parse(RunBody, request.body);
    const waitMs = body.timeout ?? DEFAULT_RUN_TIMEOUT_MS;
    context.waits.enter();
    try {
      const run = await start(context, body, request, reply, true);
      const outcome = await context.waits.hold(reply.raw, waitMs, (ms, abort) =>
        context.engine.outcome(run, { waitMs: ms, followChain: true, abort }),
      );
      if (outcome === undefined) throw unfinished(context, run, waitMs);
      return reply.header('content-type', JSON_TYPE).send(resultText(outcome));
    } finally {
      context.waits.leave();
    }
  });
}

async function start(
  { engine, targets, defaultCatalog }: RouteContext,
  body: z.output<typeof StartBody>,
  request: FastifyRequest,
  reply: FastifyReply,
  isAwaited = false,
): Promise<RunRef> {
  if (typeof body.taskQueue === 'string') markDeprecated(reply);
  const key = request.headers['idempotency-key'];
  if (key !== undefined) parse(IdempotencyKey, key, ['Idempotency-Key']);

  const catalog = body.catalog ?? body.taskQueue ?? defaultCatalog;
  const workflowType = await targets.resolve(catalog, body.workflowName, body.input);
  const start: StartRequest = { workflowType, catalog, input: [JSON.stringify(body.input)], isAwaited };
  if (typeof body.workflowId === 'string') start.workflowId = body.workflowId;
  if (typeof key === 'string') start.idempotency = { key, fingerprint: fingerprint(body, catalog) };
  return engine.start(start);
}

/**
 * What must be equal for two bodies to be the same one: everything that decides which run is made. How long the
 * caller waits does not, so a retry may wait longer; nor does the order of an object's keys.
 */
function fingerprint(body: z.output<typeof StartBody>, catalog: string): string {
  const decisive = [body.workflowName, catalog, body.workflowId ?? null, body.input];
  return createHash('sha256').update(JSON.stringify(decisive, withSortedKeys)).digest('base64url');
}

function withSortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function unfinished({ isDraining }: RouteContext, run: RunRef, waitMs: number): PerdureError {
  if (isDraining()) {
    const message = 'The server is shutting down; the workflow goes on, ask for its result later';
    return new PerdureError('EngineUnavailableError', message, { ...run });
  }
  const message = `The workflow did not finish within ${waitMs} ms; it goes on, ask for its result later`;
  return new PerdureError('WorkflowExecutionTimedOutError', message, { ...run });
}
