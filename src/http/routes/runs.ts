/** What became of a run: its status, its result and its input, of the latest run or of a pinned one; and all runs. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { PerdureError } from '../../core/errors.js';
import type { Engine, RunDescription, RunRef, RunSelector, RunSummary } from '../../engine.js';
import { withTrace } from '../awaited-trace.js';
import { JSON_TYPE, type RouteContext } from '../context.js';
import { route } from '../operation.js';
import { SCOPES, type Scope, selectorOf } from '../scopes.js';
import { summariesOf } from '../summaries.js';
import { InputAnswer, ListAnswer, ResultAnswer, StatusAnswer } from '../wire/answers.js';
import { resultText } from '../wire/result.js';
import { ListQuery, ResultQuery } from '../wire/schemas.js';

export function runRoutes(app: FastifyInstance, context: RouteContext): void {
  for (const scope of SCOPES) {
    statusRoute(app, context, scope);
    resultRoute(app, context, scope);
    inputRoute(app, context, scope);
  }
  listRoute(app, context);
}

function statusRoute(app: FastifyInstance, { engine }: RouteContext, scope: Scope): void {
  route(
    app,
    {
      id: `get${scope.infix}Status`,
      method: 'GET',
      path: `${scope.prefix}/status`,
      tag: 'runs',
      summary: `Status of ${scope.whose}`,
      params: scope.params,
      answers: { 200: { description: 'The status record.', schema: StatusAnswer } },
      errors: ['WorkflowNotFoundError'],
    },
    async ({ params, reply }) =>
      reply.send(statusRecord(await engine.describe(selectorOf(params), { withInput: false }))),
  );
}

function resultRoute(app: FastifyInstance, context: RouteContext, scope: Scope): void {
  const { engine, waits } = context;
  const followChain = !scope.isPinned;

  const waited = async (selector: RunSelector, wait: number, reply: FastifyReply) => {
    waits.enter();
    try {
      const outcome = await waits.hold(reply.raw, wait, (waitMs, abort) =>
        engine.outcome(selector, { waitMs, followChain, abort }),
      );
      return outcome && (await withTrace(context, outcome));
    } finally {
      waits.leave();
    }
  };

  route(
    app,
    {
      id: `get${scope.infix}Result`,
      method: 'GET',
      path: `${scope.prefix}/result`,
      tag: 'runs',
      summary: `Result of ${scope.whose}`,
      params: scope.params,
      query: ResultQuery,
      answers: { 200: { description: 'The result, also of a run that failed.', schema: ResultAnswer } },
      errors: ['WorkflowNotFoundError', 'WorkflowNotCompletedError', 'TooManyRequestsError'],
    },
    async ({ params, query: { wait = 0 }, reply }) => {
      const selector = selectorOf(params);
      const outcome =
        wait === 0 ? await engine.outcome(selector, { followChain }) : await waited(selector, wait, reply);
      if (outcome === undefined) {
        throw new PerdureError('WorkflowNotCompletedError', 'The workflow is still running', { ...selector });
      }
      return reply.header('content-type', JSON_TYPE).send(resultText(outcome));
    },
  );
}

function inputRoute(app: FastifyInstance, { engine }: RouteContext, scope: Scope): void {
  route(
    app,
    {
      id: `get${scope.infix}Input`,
      method: 'GET',
      path: `${scope.prefix}/input`,
      tag: 'runs',
      summary: scope.isPinned
        ? 'Input of one run'
        : 'Input that a workflow was first started with, and the run it was read from',
      params: scope.params,
      answers: { 200: { description: 'The input, whatever the state of the run.', schema: InputAnswer } },
      errors: ['WorkflowNotFoundError'],
    },
    async ({ params, reply }) => {
      const run = await engine.describe(selectorOf(params));
      const source = scope.isPinned ? run : await firstOf(engine, run);
      return reply
        .header('content-type', JSON_TYPE)
        .send(`{${refMembers(source)},"input":${source.input ?? 'null'}}`);
    },
  );
}

/** The first run of the chain, or the run itself once that one has left retention. */
async function firstOf(engine: Engine, run: RunDescription): Promise<RunDescription> {
  if (run.firstRunId === run.runId) return run;
  try {
    return await engine.describe({ workflowId: run.workflowId, runId: run.firstRunId });
  } catch (error) {
    if (error instanceof PerdureError && error.name === 'WorkflowNotFoundError') return run;
    throw error;
  }
}

const refMembers = ({ workflowId, runId }: RunRef): string =>
  `"workflowId":${JSON.stringify(workflowId)},"runId":"${runId}"`;

function listRoute(app: FastifyInstance, { engine }: RouteContext): void {
  route(
    app,
    {
      id: 'listRuns',
      method: 'GET',
      path: '/workflow/runs',
      tag: 'runs',
      summary: 'Runs, newest first',
      description: 'All filters must hold. An unknown query key is an error.',
      query: ListQuery,
      answers: { 200: { description: 'Some of the runs, and where to go on.', schema: ListAnswer } },
    },
    async ({ query, reply }) => {
      const { limit, cursor, startedAfter, startedBefore, heldBack, paused, why, ...filter } = query;
      const page = await engine.list(
        {
          ...filter,
          startedAfter: instant(startedAfter),
          startedBefore: instant(startedBefore),
          ...(heldBack && { heldBack: true }),
          ...(paused && { paused: true }),
        },
        { limit, cursor },
      );
      const summaries = why ? await summariesOf(engine, page.runs) : undefined;
      const runs = page.runs.map((run, at) => ({
        ...listEntry(run),
        ...(summaries && { summary: summaries[at] }),
      }));
      return reply.send({ runs, count: runs.length, nextCursor: page.nextCursor });
    },
  );
}

const instant = (iso: string | undefined): number | undefined =>
  iso === undefined ? undefined : Date.parse(iso);

function listEntry(run: RunSummary): object {
  const { workflowId, runId, workflowType, catalog, status, startedAt, completedAt } = run;
  return {
    workflowId,
    runId,
    workflowType,
    catalog,
    status,
    startedAt: new Date(startedAt).toISOString(),
    completedAt: completedAt === null ? null : new Date(completedAt).toISOString(),
    ...standstillOf(run),
  };
}

/** Why it does not go on although it could. */
function standstillOf({ heldBack, paused }: RunSummary): object {
  const iso = (at: number) => new Date(at).toISOString();
  return {
    ...(heldBack && { heldBack: { reason: heldBack.reason, since: iso(heldBack.since) } }),
    ...(paused && { paused: { reason: paused.reason, since: iso(paused.since), by: paused.by } }),
  };
}

function statusRecord(run: RunDescription): object {
  const { workflowId, runId, workflowType, catalog, status, startedAt, completedAt } = run;
  const { historyLength, version } = run;
  return {
    workflowId,
    runId,
    workflowType,
    catalog,
    status,
    startedAt,
    completedAt,
    historyLength,
    ...standstillOf(run),
    ...(version && { version }),
  };
}
