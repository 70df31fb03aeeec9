/**
 * What callers read: descriptions, outcomes, histories, the run list. Answered from what is committed, so nothing is
 * seen before it is on disk; callers who wait are woken by the commit that holds what they wait for.
 */
import { TimeSlices } from '../../core/bounds/time-slices.js';
import { PerdureError } from '../../core/errors.js';
import type { Paused } from '../../core/run/pause.js';
import { versionFromText } from '../../core/run/version.js';
import type { Payload } from '../../core/values/json.js';
import type {
  HistoryOptions,
  HistoryPage,
  OutcomeOptions,
  RunDescription,
  RunFilter,
  RunOutcome,
  RunPage,
  RunSelector,
  RunSummary,
  TraceInfo,
} from '../../engine.js';
import type { Kernel } from '../kernel.js';
import type { ActiveRun, HeldBack } from '../store/active-run.js';
import type { RunRow } from '../store/tables/run-row.js';
import { type ClosedRun, closedRunOf, outcomeOf, successorOf } from './outcome.js';
import { Waiters } from './waiting.js';

export class Reading {
  readonly #forEvents: Waiters<true>;
  readonly #forClose: Waiters<ClosedRun>;
  #stopped: Error | undefined;

  constructor(private readonly kernel: Kernel) {
    const slices = new TimeSlices(kernel.scheduler);
    this.#forEvents = new Waiters(kernel.scheduler, slices);
    this.#forClose = new Waiters(kernel.scheduler, slices);
  }

  committed(runs: Iterable<ActiveRun>): void {
    const { listeners } = this.kernel;
    for (const run of runs) {
      const { runId } = run.state;
      if (run.isClosed && run.closeEvent && !run.isCloseTold) {
        run.isCloseTold = true;
        if (listeners.any) listeners.closed(summaryOfRun(run));
      }
      this.#forEvents.wake(runId, true);
      if (run.isClosed && this.#forClose.has(runId)) this.#forClose.wake(runId, closedRunOf(run));
    }
  }

  /** The run is set apart: whoever waits for it looks again, and is told. */
  setApart(runId: string): void {
    this.#forEvents.wake(runId, true);
    this.#forClose.letGo(runId);
  }

  /** Lets everybody who waits go, with the reason. */
  stop(reason: Error): void {
    this.#stopped = reason;
    this.#forEvents.letAllGo();
    this.#forClose.letAllGo();
  }

  #requireRunning(): void {
    if (this.#stopped) throw this.#stopped;
  }

  describe(selector: RunSelector, { withInput = true } = {}): RunDescription {
    const row = this.kernel.runs.selectRow(selector);
    const description: RunDescription = {
      ...summaryOf(row),
      historyLength: this.kernel.tables.history.length(row.key),
      input: withInput ? this.#inputOf(row.key) : undefined,
      firstRunId: row.first_run_id,
    };
    if (row.version !== null) description.version = versionFromText(row.version);
    return description;
  }

  async outcome(selector: RunSelector, options: OutcomeOptions): Promise<RunOutcome | undefined> {
    const { waitMs = 0, abort } = options;
    const follow = options.followChain ?? selector.runId === undefined;
    const until = this.kernel.clock.monotonicMs() + waitMs;
    let runId = this.#isOpenInMemory(selector)
      ? selector.runId!
      : this.kernel.runs.selectRow(selector).run_id;
    for (;;) {
      const isOpen = this.kernel.runs.inMemory(runId)?.isClosed === false;
      let closed = isOpen ? undefined : this.#closedRun({ workflowId: selector.workflowId, runId });
      if (!closed) {
        closed = await this.#forClose.wait(runId, until - this.kernel.clock.monotonicMs(), abort);
        this.#requireRunning();
        if (!closed) {
          // The caller is about to be told of a run whose start it may not have waited for.
          this.kernel.commit.flush(true);
          this.#requireRunning();
          closed = this.#closedRun({ workflowId: selector.workflowId, runId });
        }
        if (!closed) return undefined;
      }
      const next = follow ? successorOf(closed.close) : undefined;
      if (next === undefined) return this.#outcomeOf(closed, follow);
      runId = next;
    }
  }

  #isOpenInMemory({ workflowId, runId }: RunSelector): boolean {
    const run = runId === undefined ? undefined : this.kernel.runs.inMemory(runId);
    return run !== undefined && run.state.workflowId === workflowId && !run.isClosed;
  }

  #closedRun(selector: RunSelector): ClosedRun | undefined {
    const row = this.kernel.runs.selectRow(selector);
    if (row.closed_at === null) return undefined;
    const { workflow_id: workflowId, run_id: runId, first_run_id: firstRunId, format } = row;
    return {
      workflowId,
      runId,
      firstRunId,
      format: format ?? 'current',
      input: this.#inputOf(row.key),
      close: this.kernel.tables.history.last(row.key),
      trace: row.trace === null ? null : (JSON.parse(row.trace) as TraceInfo),
    };
  }

  #outcomeOf(closed: ClosedRun, ofChain: boolean): RunOutcome {
    const first =
      ofChain && closed.firstRunId !== closed.runId
        ? this.kernel.tables.runs.byId(closed.firstRunId)
        : undefined;
    return outcomeOf(closed, first ? this.#inputOf(first.key) : closed.input);
  }

  #inputOf(key: number): Payload | undefined {
    const first = this.kernel.tables.history.first(key);
    return first.type === 'WORKFLOW_EXECUTION_STARTED' ? first.attributes.input[0] : undefined;
  }

  async history(selector: RunSelector, options: HistoryOptions): Promise<HistoryPage> {
    const { afterEventId, limit, maxBytes, waitMs = 0, abort } = options;
    const until = this.kernel.clock.monotonicMs() + waitMs;
    for (let row = this.kernel.runs.selectRow(selector); ; ) {
      const events = this.kernel.tables.history.read(row.key, afterEventId, limit, maxBytes);
      const isClosed = row.closed_at !== null;
      const page = (ended: boolean): HistoryPage => ({ runId: row.run_id, events, ended });
      if (events.length > 0) {
        const isLast = events.at(-1)!.id === this.kernel.tables.history.length(row.key);
        return { ...page(isClosed && isLast), isCut: !isLast && events.length < limit };
      }
      if (isClosed) return page(true);
      if (!(await this.#forEvents.wait(row.run_id, until - this.kernel.clock.monotonicMs(), abort)))
        return page(false);
      this.#requireRunning();
      // Who has left takes nothing; and when the server drains an empty page loses nothing, since callers go on after it.
      if (abort?.aborted) return page(false);
      row = this.kernel.runs.selectRow({ workflowId: row.workflow_id, runId: row.run_id });
    }
  }

  list(filter: RunFilter, { limit, cursor }: { limit: number; cursor?: string }): RunPage {
    const { tables, limits } = this.kernel;
    const before = Math.min(decodeCursor(cursor), tables.runs.maxKey() + 1);
    // A filter that few runs match must not hold up everybody else: the page ends early and the cursor goes on.
    const from = filter.workflowId === undefined ? Math.max(0, before - limits.listedKeys) : 0;
    const rows = tables.runs.list(filter, { from, before }, limit + 1);
    const runs = rows.slice(0, limit).map(summaryOf);
    if (rows.length > limit) return { runs, nextCursor: encodeCursor(rows[limit - 1]!.key) };
    return { runs, nextCursor: from > 0 ? encodeCursor(from) : null };
  }
}

function summaryOf(row: RunRow): RunSummary {
  const heldBack = row.held_back === null ? undefined : (JSON.parse(row.held_back) as HeldBack);
  return {
    workflowId: row.workflow_id,
    runId: row.run_id,
    workflowType: row.workflow_type,
    catalog: row.catalog,
    status: row.status,
    startedAt: row.started_at,
    completedAt: row.closed_at,
    ...(heldBack && { heldBack: { reason: heldBack.reason, since: heldBack.since } }),
    ...(row.paused !== null && { paused: JSON.parse(row.paused) as Paused }),
  };
}

function summaryOfRun({ state }: ActiveRun): RunSummary {
  return {
    workflowId: state.workflowId,
    runId: state.runId,
    workflowType: state.started.workflowType,
    catalog: state.started.catalog,
    status: state.status,
    startedAt: state.startedAt,
    completedAt: state.closedAt,
  };
}

const encodeCursor = (key: number): string => Buffer.from(`runs:${key}`).toString('base64url');

function decodeCursor(cursor: string | undefined): number {
  if (cursor === undefined) return Number.MAX_SAFE_INTEGER;
  const match = /^runs:(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString());
  if (!match || encodeCursor(Number(match[1])) !== cursor) {
    throw new PerdureError('ValidationError', 'Invalid Payload', {
      issues: [{ path: ['cursor'], message: 'not a cursor that this server gave', code: 'invalid_cursor' }],
    });
  }
  return Number(match[1]);
}
