/** Starting workflows: `run` waits for the result, `start` does not. */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { z } from 'zod';
import { amountText } from '../../core/cost/cost.js';
import { PerdureError } from '../../core/errors.js';
import type { RunOutcome, RunRef, StartRequest } from '../../engine.js';
import { withTrace } from '../awaited-trace.js';
import { callerTrace } from '../caller-trace.js';
import { JSON_TYPE, type RouteContext } from '../context.js';
import { route } from '../operation.js';
import { ResultAnswer, RunRefAnswer } from '../wire/answers.js';
import { markDeprecated } from '../wire/deprecation.js';
import { toPerdureError } from '../wire/errors.js';
import { resultText } from '../wire/result.js';
import { RunBody, StartBody, StartHeaders } from '../wire/schemas.js';

/** Beside those of every operation with a body. */
const START_ERRORS = [
  'CatalogNotAvailableError',
  'UnsupportedWorkflowError',
  'WorkflowAlreadyExistsError',
  'IdempotencyConflictError',
  'StorageFullError',
  // The run that holds the id or the key may be damaged.
  'DataCorruptionError',
] as const;

const DEPRECATED_FIELD = {
  Deprecation: 'When the body has the deprecated `taskQueue`.',
  Sunset: 'When the body has the deprecated `taskQueue`.',
};

export function startRoutes(app: FastifyInstance, context: RouteContext): void {
  route(
    app,
    {
      id: 'startWorkflow',
      method: 'POST',
      path: '/workflow/start',
      tag: 'start',
      summary: 'Starts a workflow',
      description: 'Answered only when the start is on disk.',
      headers: StartHeaders,
      body: StartBody,
      answers: { 200: { description: 'The run.', schema: RunRefAnswer, headers: DEPRECATED_FIELD } },
      errors: START_ERRORS,
    },
    async ({ body, headers, reply }) => {
      const { workflowId, runId } = await start(context, body, headers, reply);
      return reply
        .header('content-type', JSON_TYPE)
        .send(`{"workflowId":${JSON.stringify(workflowId)},"runId":"${runId}"}`);
    },
  );

  route(
    app,
    {
      id: 'runWorkflow',
      method: 'POST',
      path: '/workflow/run',
      tag: 'start',
      summary: 'Starts a workflow and waits for its result',
      description: 'On a timeout the run goes on. A caller who hangs up does not stop it either.',
      headers: StartHeaders,
      body: RunBody,
      answers: {
        200: {
          description: 'The result, also of a run that failed.',
          schema: ResultAnswer,
          headers: DEPRECATED_FIELD,
        },
      },
      errors: [...START_ERRORS, 'WorkflowExecutionTimedOutError', 'TooManyRequestsError'],
    },
    async ({ body, headers, reply }) => {
      const waitMs = body.timeout ?? context.runTimeoutMs;
      context.waits.enter();
      try {
        const run = await start(context, body, headers, reply, true);
        context.bodies.leave(reply.raw);
        let outcome: RunOutcome | undefined;
        try {
          outcome = await context.waits.hold(reply.raw, waitMs, (ms, abort) =>
            context.engine.outcome(run, { waitMs: ms, followChain: true, abort }),
          );
        } catch (thrown) {
          throw afterStart(thrown, run);
        }
        if (outcome === undefined) throw unfinished(context, run, waitMs);
        const named = await withTrace(context, outcome);
        return reply.header('content-type', JSON_TYPE).send(resultText(named));
      } finally {
        context.waits.leave();
      }
    },
  );
}

async function start(
  { engine, targets, defaultCatalog }: RouteContext,
  body: z.output<typeof StartBody>,
  { 'idempotency-key': key }: z.output<typeof StartHeaders>,
  reply: FastifyReply,
  isAwaited = false,
): Promise<RunRef> {
  if (typeof body.taskQueue === 'string') markDeprecated(reply);
  const catalog = body.catalog ?? body.taskQueue ?? defaultCatalog;
  const workflowType = await targets.resolve(catalog, body.workflowName, body.input);
  const start: StartRequest = { workflowType, catalog, input: [JSON.stringify(body.input)], isAwaited };
  if (typeof body.workflowId === 'string') start.workflowId = body.workflowId;
  const traceContext = callerTrace(reply.request);
  if (traceContext) start.traceContext = traceContext;
  if (body.budget) {
    const { amount, currency } = body.budget;
    start.budget = { amount: amountText(amount), currency };
  }
  if (key !== undefined) start.idempotency = { key, fingerprint: fingerprint(body, catalog) };
  return engine.start(start);
}

/**
 * What must be equal for two bodies to be the same one: everything that decides which run is made. How long the
 * caller waits does not, so a retry may wait longer; nor does the order of an object's keys.
 */
function fingerprint(body: z.output<typeof StartBody>, catalog: string): string {
  const decisive: unknown[] = [body.workflowName, catalog, body.workflowId ?? null, body.input];
  if (body.budget) decisive.push([amountText(body.budget.amount), body.budget.currency]);
  return createHash('sha256').update(JSON.stringify(decisive, withSortedKeys)).digest('base64url');
}

function withSortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The run is there: a caller who is not told which would start another one. */
function afterStart(thrown: unknown, run: RunRef): PerdureError {
  const { name, message, details } = toPerdureError(thrown);
  const told = `The workflow was started and goes on, ask for its result later: ${message}`;
  return Object.assign(new PerdureError(name, told, { ...details, ...run }), { cause: thrown });
}

function unfinished({ isDraining }: RouteContext, run: RunRef, waitMs: number): PerdureError {
  if (isDraining()) {
    const message = 'The server is shutting down; the workflow goes on, ask for its result later';
    return new PerdureError('EngineUnavailableError', message, { ...run });
  }
  const message = `The workflow did not finish within ${waitMs} ms; it goes on, ask for its result later`;
  return new PerdureError('WorkflowExecutionTimedOutError', message, { ...run });
}
