/**
 * The events of a run, page by page, and waiting for new ones.
 *
 * A page token is bound to the run whose events it goes on with, so that a reader of "the latest run" never gets the
 * events of two runs mixed when another one starts in between.
 */
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { z } from 'zod';
import { MAX_LONG_POLL_MS, MAX_PAGE_BYTES } from '../../core/bounds/limits.js';
import { PerdureError } from '../../core/errors.js';
import type { HistoryPage, RunSelector } from '../../engine.js';
import type { RouteContext } from '../context.js';
import { route } from '../operation.js';
import { SCOPES, selectorOf } from '../scopes.js';
import { HistoryAnswer } from '../wire/answers.js';
import { nameSteps, wireEvent, workflowMetadata } from '../wire/events.js';
import { decodePageToken, encodePageToken } from '../wire/page-token.js';
import { HistoryQuery, LatestHistoryQuery } from '../wire/schemas.js';

export function historyRoutes(app: FastifyInstance, context: RouteContext): void {
  for (const scope of SCOPES) {
    route(
      app,
      {
        id: `get${scope.infix}History`,
        method: 'GET',
        path: `${scope.prefix}/history`,
        tag: 'history',
        summary: `Events of ${scope.whose}, oldest first`,
        description:
          'With `longPollTimeoutMs` a caller who has seen all events waits for the next, and gets a token to go on ' +
          'from as long as the run is open.',
        params: scope.params,
        query: scope.isPinned ? HistoryQuery : LatestHistoryQuery,
        answers: { 200: { description: 'A page of events.', schema: HistoryAnswer } },
        errors: ['WorkflowNotFoundError', 'InvalidPageTokenError', 'TooManyRequestsError'],
      },
      async ({ params, query, reply }) => {
        const selector = selectorOf(params);
        const { runId } = query as z.output<typeof LatestHistoryQuery>;
        if (runId !== undefined) selector.runId = runId;
        return reply.send(await historyPage(context, selector, query, reply));
      },
    );
  }
}

async function historyPage(
  context: RouteContext,
  selector: RunSelector,
  query: z.output<typeof HistoryQuery>,
  reply: FastifyReply,
): Promise<object> {
  const { engine } = context;
  const { pageSize, pageToken, includePayloads = false, longPollTimeoutMs } = query;
  const isLongPoll = longPollTimeoutMs !== undefined;
  const from = pageToken === undefined ? undefined : decodePageToken(pageToken);
  if (from) await bind(context, selector, from.runId);

  const afterEventId = from?.eventId ?? 0;
  // One more than asked for tells whether there are more.
  const read = { afterEventId, limit: pageSize + 1, maxBytes: MAX_PAGE_BYTES };
  const page = isLongPoll
    ? await waitForEvents(context, selector, read, longPollTimeoutMs, reply)
    : await engine.history(selector, read);

  const { runId } = page;
  const run = { workflowId: selector.workflowId, runId };
  const events = page.events.slice(0, pageSize);
  const steps = await nameSteps(engine, run, { events, steps: page.steps });
  const goesOn = page.events.length > pageSize || page.isCut === true || (isLongPoll && !page.ended);
  const next = { runId, eventId: events.at(-1)?.id ?? afterEventId };
  return {
    // Read after the events, so that the status is never older than the last event that is shown.
    workflow: from && !isLongPoll ? null : workflowMetadata(await engine.describe(run, { withInput: false })),
    events: events.map((event) => wireEvent(event, { includePayloads, steps })),
    runId,
    nextPageToken: goesOn ? encodePageToken(next) : null,
  };
}

/** Makes `selector` the run of the token. @throws InvalidPageTokenError for one of another run, WorkflowNotFoundError */
async function bind({ engine }: RouteContext, selector: RunSelector, runId: string): Promise<void> {
  const foreign = () =>
    new PerdureError('InvalidPageTokenError', 'This page token is of another run', { ...selector });
  if (selector.runId !== undefined) {
    if (selector.runId !== runId) throw foreign();
    return;
  }
  const latest = await engine.describe(selector, { withInput: false });
  if (latest.runId !== runId) {
    try {
      await engine.describe({ workflowId: selector.workflowId, runId }, { withInput: false });
    } catch (error) {
      throw error instanceof PerdureError && error.name === 'WorkflowNotFoundError' ? foreign() : error;
    }
  }
  selector.runId = runId;
}

async function waitForEvents(
  { engine, waits }: RouteContext,
  selector: RunSelector,
  read: { afterEventId: number; limit: number; maxBytes: number },
  longPollTimeoutMs: number,
  reply: FastifyReply,
): Promise<HistoryPage> {
  const now = await engine.history(selector, read);
  if (now.events.length > 0 || now.ended) return now;
  // Where the run was not named, it is from here on: the wait is for events of the run that was looked at.
  const run = { workflowId: selector.workflowId, runId: now.runId };
  waits.enter();
  try {
    const waitMs = Math.min(longPollTimeoutMs, MAX_LONG_POLL_MS);
    const later = await waits.hold(reply.raw, waitMs, async (ms, abort) => {
      const page = await engine.history(run, { ...read, waitMs: ms, abort });
      return page.events.length > 0 || page.ended ? page : undefined;
    });
    return later ?? now;
  } finally {
    waits.leave();
  }
}
