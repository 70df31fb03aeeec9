/**
 * What callers read: descriptions, outcomes, histories, the run list. Answered from what is committed, so nothing is
 * seen before it is on disk; callers who wait are woken by the commit that holds what they wait for.
 */
import { PerdureError } from '../core/errors.js';
import type { Payload } from '../core/json.js';
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
} from '../engine.js';
import type { ActiveRun } from './active-run.js';
import type { Machine } from './machine.js';
import { type ClosedRun, closedRunOf, outcomeOf, successorOf } from './outcome.js';
import type { RunRow } from './tables.js';
import { Waiters } from './waiting.js';

export class Reading {
  readonly #forEvents = new Waiters<true>();
  readonly #forClose = new Waiters<ClosedRun>();
  #stopped: Error | undefined;

  constructor(private readonly machine: Machine) {}

  committed(runs: Iterable<ActiveRun>): void {
    const { listeners } = this.machine;
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

  /** Lets everybody who waits go, with the reason. */
  stop(reason: Error): void {
    this.#stopped = reason;
    this.#forEvents.letAllGo();
    this.#forClose.letAllGo();
  }

  #requireRunning(): void {
    if (this.#stopped) throw this.#stopped;
  }

  describe(selector: RunSelector): RunDescription {
    const row = this.machine.runs.selectRow(selector);
    const description: RunDescription = {
      ...summaryOf(row),
      historyLength: this.machine.tables.historyLength(row.key),
      input: this.#inputOf(row.key),
      firstRunId: row.first_run_id,
    };
    if (row.held_back !== null) {
      const { reason, since } = JSON.parse(row.held_back) as { reason: string; since: number };
      description.heldBack = { reason, since };
    }
    return description;
  }

  async outcome(selector: RunSelector, options: OutcomeOptions): Promise<RunOutcome | undefined> {
    const { waitMs = 0, abort } = options;
    const follow = options.followChain ?? selector.runId === undefined;
    const until = this.machine.clock.now() + waitMs;
    let runId = this.#isOpenInMemory(selector)
      ? selector.runId!
      : this.machine.runs.selectRow(selector).run_id;
    for (;;) {
      const isOpen = this.machine.runs.inMemory(runId)?.isClosed === false;
      let closed = isOpen ? undefined : this.#closedRun({ workflowId: selector.workflowId, runId });
      if (!closed) {
        closed = await this.#forClose.wait(runId, until - this.machine.clock.now(), abort);
        this.#requireRunning();
        if (!closed) {
          // The caller is about to be told of a run whose start it may not have waited for.
          this.machine.commit.flush(true);
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
    const run = runId === undefined ? undefined : this.machine.runs.inMemory(runId);
    return run !== undefined && run.state.workflowId === workflowId && !run.isClosed;
  }

  #closedRun(selector: RunSelector): ClosedRun | undefined {
    const row = this.machine.runs.selectRow(selector);
    if (row.closed_at === null) return undefined;
    const { workflow_id: workflowId, run_id: runId, first_run_id: firstRunId, format } = row;
    return {
      workflowId,
      runId,
      firstRunId,
      format: format ?? 'current',
      input: this.#inputOf(row.key),
      close: this.machine.tables.lastEvent(row.key),
      trace: row.trace === null ? null : (JSON.parse(row.trace) as TraceInfo),
    };
  }

  #outcomeOf(closed: ClosedRun, ofChain: boolean): RunOutcome {
    const first =
      ofChain && closed.firstRunId !== closed.runId
        ? this.machine.tables.runById(closed.firstRunId)
        : undefined;
    return outcomeOf(closed, first ? this.#inputOf(first.key) : closed.input);
  }

  #inputOf(key: number): Payload | undefined {
    const first = this.machine.tables.firstEvent(key);
    return first.type === 'WORKFLOW_EXECUTION_STARTED' ? first.attributes.input[0] : undefined;
  }

  async history(selector: RunSelector, options: HistoryOptions): Promise<HistoryPage> {
    const { afterEventId, limit, waitMs = 0, abort } = options;
    const until = this.machine.clock.now() + waitMs;
    const pinned = { workflowId: selector.workflowId, runId: this.machine.runs.selectRow(selector).run_id };
    for (;;) {
      const row = this.machine.runs.selectRow(pinned);
      const events = this.machine.tables.readEvents(row.key, afterEventId, limit);
      const isClosed = row.closed_at !== null;
      const page = (ended: boolean): HistoryPage => ({ runId: row.run_id, events, ended });
      if (events.length > 0) {
        return page(isClosed && events.at(-1)!.id === this.machine.tables.historyLength(row.key));
      }
      if (isClosed) return page(true);
      if (!(await this.#forEvents.wait(row.run_id, until - this.machine.clock.now(), abort)))
        return page(false);
      this.#requireRunning();
    }
  }

  list(filter: RunFilter, { limit, cursor }: { limit: number; cursor?: string }): RunPage {
    const { tables, limits } = this.machine;
    const before = Math.min(decodeCursor(cursor), tables.maxKey() + 1);
    // A filter that few runs match must not hold up everybody else: the page ends early and the cursor goes on.
    const from = filter.workflowId === undefined ? Math.max(0, before - limits.listedKeys) : 0;
    const rows = tables.listRuns(filter, { from, before }, limit + 1);
    const runs = rows.slice(0, limit).map(summaryOf);
    if (rows.length > limit) return { runs, nextCursor: encodeCursor(rows[limit - 1]!.key) };
    return { runs, nextCursor: from > 0 ? encodeCursor(from) : null };
  }
}

function summaryOf(row: RunRow): RunSummary {
  return {
    workflowId: row.workflow_id,
    runId: row.run_id,
    workflowType: row.workflow_type,
    catalog: row.catalog,
    status: row.status,
    startedAt: row.started_at,
    completedAt: row.closed_at,
  };
}

function summaryOfRun({ state, startedAt }: ActiveRun): RunSummary {
  return {
    workflowId: state.workflowId,
    runId: state.runId,
    workflowType: state.started.workflowType,
    catalog: state.started.catalog,
    status: state.status,
    startedAt,
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
