/**
 * The run list, newest first.
 *
 * 1. Temporal's visibility store orders runs its own way, open ones before closed ones. So a page is made of all the
 *    runs that started in a span of time which holds enough of them, sorted here.
 * 2. A cursor is the place of a run in that order. It means the same to every server, whatever started meanwhile.
 * 3. The store lags behind. What this server has told its callers is shown nevertheless; see recent.ts.
 */
import type { temporal } from '@temporalio/proto';
import { PerdureError } from '../../core/errors.js';
import type { RunFilter, RunPage, RunSummary } from '../../engine.js';
import type { Cluster } from '../cluster/connection.js';
import { HIDDEN_WORKFLOW_TYPES } from '../cluster/conventions.js';
import { instant, int, STATUS_IN_QUERIES, statusFromProto } from '../translate/proto.js';
import type { RecentRuns } from './recent.js';
import { isHidden, type Runs } from './runs.js';

/** A place between two runs: before it stand those that are newer. */
interface Place {
  startedAt: number;
  runId: string;
}

const END: Place = { startedAt: Number.MAX_SAFE_INTEGER, runId: '' };
/** What the visibility store gives at once. */
const MAX_PAGE = 1_000;
const FIRST_SPAN_MS = 60_000;
const SPAN_GROWTH = 4;
/** Runs that are looked at one by one since the store may be behind. */
const MAX_LOOKS = 500;
const LOOKS_AT_ONCE = 50;

export class RunList {
  constructor(
    private readonly cluster: Cluster,
    private readonly runs: Runs,
    private readonly recent: RecentRuns,
  ) {}

  async list(filter: RunFilter, { limit, cursor }: { limit: number; cursor?: string }): Promise<RunPage> {
    const before = cursor === undefined ? END : decodeCursor(cursor);
    const { found, from } = await this.#span(filter, before, limit);
    const all = await this.#corrected(found, filter, { from, to: before.startedAt });
    const isOnPage = (run: RunSummary) => run.startedAt >= from && isAfter(run, before);
    const inOrder = all.filter(isOnPage).sort(newestFirst);
    const onPage = inOrder.slice(0, limit);
    const last = onPage.at(-1);
    const looked = await this.#withStandstill(onPage, filter);
    const runs = looked.filter((run) => (!filter.heldBack || run.heldBack) && (!filter.paused || run.paused));
    if (inOrder.length > limit && last) return { runs, nextCursor: encodeCursor(last) };
    // Nothing of the span is left; what is older comes with the next page.
    return { runs, nextCursor: from > 0 ? encodeCursor({ startedAt: from, runId: '' }) : null };
  }

  /** All runs that the store has from `from` to the place, more than `limit` of them unless there are no more. */
  async #span(
    filter: RunFilter,
    before: Place,
    limit: number,
  ): Promise<{ found: RunSummary[]; from: number }> {
    const few = await this.#some(queryOf(filter, before, 0), limit + 1);
    if (!few.nextToken) return { found: few.runs, from: 0 };
    const end = Math.min(before.startedAt, Date.now());
    let spanMs = FIRST_SPAN_MS;
    let tooShortMs = 0;
    for (;;) {
      const count = await this.#count(queryOf(filter, before, end - spanMs));
      if (count <= limit && spanMs < end) {
        tooShortMs = spanMs;
        spanMs *= SPAN_GROWTH;
      } else if (count > MAX_PAGE && count > limit * 2 && spanMs - tooShortMs > 1) {
        spanMs = Math.ceil((spanMs + tooShortMs) / 2);
      } else break;
    }
    const from = Math.max(end - spanMs, 0);
    return { found: await this.#all(queryOf(filter, before, from)), from };
  }

  async #count(query: string): Promise<number> {
    const { namespace } = this.cluster;
    const { count } = await this.cluster.call((service) =>
      service.countWorkflowExecutions({ namespace, query }),
    );
    return int(count);
  }

  async #all(query: string): Promise<RunSummary[]> {
    const all: RunSummary[] = [];
    let token: Uint8Array | undefined;
    do {
      const page = await this.#some(query, MAX_PAGE, token);
      all.push(...page.runs);
      token = page.nextToken;
    } while (token);
    return all;
  }

  async #some(
    query: string,
    pageSize: number,
    token?: Uint8Array,
  ): Promise<{ runs: RunSummary[]; nextToken: Uint8Array | undefined }> {
    const { namespace } = this.cluster;
    const { executions, nextPageToken } = await this.cluster.call((service) =>
      service.listWorkflowExecutions({
        namespace,
        query,
        pageSize: Math.min(pageSize, MAX_PAGE),
        nextPageToken: token,
      }),
    );
    return {
      runs: (executions ?? []).map(summaryOf),
      nextToken: nextPageToken && nextPageToken.length > 0 ? nextPageToken : undefined,
    };
  }

  /** The store does not know which runs are held back or paused: the open ones are asked, the newest first. */
  async #withStandstill(runs: RunSummary[], filter: RunFilter): Promise<RunSummary[]> {
    const isAll = filter.heldBack || filter.paused;
    const open = runs.filter(({ status }) => status === 'running').slice(0, isAll ? MAX_PAGE : MAX_LOOKS);
    const found = new Map<string, Pick<RunSummary, 'heldBack' | 'paused'>>();
    for (let index = 0; index < open.length; index += LOOKS_AT_ONCE) {
      const some = open.slice(index, index + LOOKS_AT_ONCE);
      await Promise.all(
        some.map(async (each) => {
          const run = await this.runs.lookAny(each);
          if (!run) return;
          const [heldBack, paused] = await Promise.all([this.runs.heldBack(run), this.runs.paused(run)]);
          found.set(run.runId, { ...(heldBack && { heldBack }), ...(paused && { paused }) });
        }),
      );
    }
    return runs.map((run) => ({ ...run, ...found.get(run.runId) }));
  }

  /** What was found, with what this server knows better. */
  async #corrected(
    found: readonly RunSummary[],
    filter: RunFilter,
    span: { from: number; to: number },
  ): Promise<RunSummary[]> {
    const byId = new Map<string, RunSummary>();
    const toLookAt = new Map(
      this.recent
        .matching(filter, span)
        .slice(0, MAX_LOOKS)
        .map((run) => [run.runId, run]),
    );
    for (const run of found) {
      if (this.recent.seen(run)) toLookAt.delete(run.runId);
      byId.set(run.runId, run);
    }
    const looks = [...toLookAt.values()];
    for (let index = 0; index < looks.length; index += LOOKS_AT_ONCE) {
      const some = looks.slice(index, index + LOOKS_AT_ONCE);
      for (const run of await Promise.all(some.map((each) => this.runs.lookAny(each)))) {
        if (!run) continue;
        const { workflowId, runId, workflowType, catalog, status, startedAt, completedAt } = run;
        byId.set(runId, { workflowId, runId, workflowType, catalog, status, startedAt, completedAt });
      }
    }
    return [...byId.values()].filter((run) => !isHidden(run) && isWanted(run, filter));
  }
}

export function queryOf(filter: RunFilter, { startedAt }: Place, from: number): string {
  const clauses = [`WorkflowType NOT IN (${HIDDEN_WORKFLOW_TYPES.map(quoted).join(', ')})`];
  const { workflowType, catalog, status, workflowId, workflowIdPrefix } = filter;
  if (workflowType !== undefined) clauses.push(`WorkflowType = ${quoted(workflowType)}`);
  if (catalog !== undefined) clauses.push(`TaskQueue = ${quoted(catalog)}`);
  if (status !== undefined) clauses.push(`ExecutionStatus = ${quoted(STATUS_IN_QUERIES[status])}`);
  if (filter.heldBack || filter.paused)
    clauses.push(`ExecutionStatus = ${quoted(STATUS_IN_QUERIES.running)}`);
  if (workflowId !== undefined) clauses.push(idClause('=', workflowId));
  if (workflowIdPrefix !== undefined) clauses.push(idClause('STARTS_WITH', workflowIdPrefix));
  const since = Math.max(from, filter.startedAfter ?? 0);
  if (since > 0) clauses.push(`StartTime >= ${quoted(time(since))}`);
  const until = Math.min(startedAt, filter.startedBefore ?? Number.MAX_SAFE_INTEGER);
  // Times of the store are finer than ours: what started within this millisecond is in it.
  if (until < Number.MAX_SAFE_INTEGER) clauses.push(`StartTime < ${quoted(time(until + 1))}`);
  return clauses.join(' AND ');
}

/**
 * Temporal's query language is parsed and written anew several times on the way to the store, and a text with quotes or
 * backslashes in it is not found, however it is quoted. So the part before them is looked for, and the rest is compared
 * here.
 */
function idClause(operator: '=' | 'STARTS_WITH', text: string): string {
  const end = text.search(/["'\\]/);
  if (end === -1) return `WorkflowId ${operator} ${quoted(text)}`;
  return end === 0 ? 'WorkflowId IS NOT NULL' : `WorkflowId STARTS_WITH ${quoted(text.slice(0, end))}`;
}

const time = (at: number): string => new Date(at).toISOString();

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function isWanted({ workflowId, status, startedAt }: RunSummary, filter: RunFilter): boolean {
  return (
    (filter.workflowId === undefined || filter.workflowId === workflowId) &&
    (filter.workflowIdPrefix === undefined || workflowId.startsWith(filter.workflowIdPrefix)) &&
    (filter.status === undefined || filter.status === status) &&
    (filter.startedAfter === undefined || startedAt > filter.startedAfter) &&
    (filter.startedBefore === undefined || startedAt < filter.startedBefore)
  );
}

function summaryOf(info: temporal.api.workflow.v1.IWorkflowExecutionInfo): RunSummary {
  const status = statusFromProto(info.status);
  return {
    workflowId: info.execution?.workflowId ?? '',
    runId: info.execution?.runId ?? '',
    workflowType: info.type?.name ?? '',
    catalog: info.taskQueue ?? '',
    status,
    startedAt: instant(info.startTime),
    completedAt: status === 'running' ? null : instant(info.closeTime),
  };
}

function newestFirst(a: Place, b: Place): number {
  return b.startedAt - a.startedAt || (a.runId < b.runId ? 1 : -1);
}

function isAfter(run: Place, place: Place): boolean {
  return run.startedAt < place.startedAt || (run.startedAt === place.startedAt && run.runId < place.runId);
}

const encodeCursor = ({ startedAt, runId }: Place): string =>
  Buffer.from(`runs:${startedAt}:${runId}`).toString('base64url');

function decodeCursor(cursor: string): Place {
  const match = /^runs:(\d{1,15}):([0-9a-f-]{0,36})$/.exec(Buffer.from(cursor, 'base64url').toString());
  const place = match && { startedAt: Number(match[1]), runId: match[2]! };
  if (!place || encodeCursor(place) !== cursor) {
    throw new PerdureError('ValidationError', 'Invalid Payload', {
      issues: [{ path: ['cursor'], message: 'not a cursor that this server gave', code: 'invalid_cursor' }],
    });
  }
  return place;
}
