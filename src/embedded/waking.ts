/**
 * Time: runs whose instant has come. One timer for all of them; the instants themselves are a column on disk, so a
 * sleeping run costs no memory.
 */
import type { ActiveRun } from './active-run.js';
import type { Machine } from './machine.js';

/** setTimeout takes no longer one; a far instant is simply looked at again. */
const MAX_TIMEOUT_MS = 2_147_483_647;

/** Runs woken before other work gets its turn. */
const BATCH = 200;

export class Waking {
  #timer: NodeJS.Timeout | undefined;
  #nextAt = Number.POSITIVE_INFINITY;
  #isStopped = false;

  constructor(private readonly machine: Machine) {}

  start(): void {
    const next = this.machine.tables.nextWakeAt();
    if (next !== undefined) this.#arm(next);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** Runs were committed: their instants may be earlier than the one waited for. */
  committed(runs: Iterable<ActiveRun>): void {
    for (const run of runs) if (run.savedWakeAt !== undefined) this.#arm(run.savedWakeAt);
  }

  #arm(at: number): void {
    if (this.#isStopped || at >= this.#nextAt) return;
    this.#nextAt = at;
    clearTimeout(this.#timer);
    const waitMs = Math.min(Math.max(0, at - this.machine.clock.now()), MAX_TIMEOUT_MS);
    this.#timer = setTimeout(() => this.#wake(), waitMs);
  }

  #wake(): void {
    this.#nextAt = Number.POSITIVE_INFINITY;
    const now = this.machine.clock.now();
    const due = this.machine.tables.dueRuns(now, BATCH);
    for (const runId of due) {
      const run = this.machine.runs.get(runId);
      if (!run) continue;
      this.#process(run, now);
      // The column may be earlier than the true instant; it is set right, so that the run is not found again at once.
      run.changed = true;
      this.machine.commit.changed(run);
    }
    this.machine.commit.afterCommit(() => {
      const next = this.machine.tables.nextWakeAt();
      if (next !== undefined) this.#arm(next);
    });
  }

  #process(run: ActiveRun, now: number): void {
    const { state } = run;
    if (run.isClosed || (run.dueAt ?? Number.POSITIVE_INFINITY) > now) return;
    if (state.started.executionExpiresAt !== undefined && state.started.executionExpiresAt <= now) {
      this.machine.lifecycle.endFromOutside(run, { type: 'WORKFLOW_EXECUTION_TIMED_OUT', attributes: {} });
      return;
    }
    const backoffMs = state.started.firstTurnBackoffMs;
    if (!state.hadTurn && backoffMs !== undefined && state.startedAt + backoffMs <= now) {
      this.machine.lifecycle.scheduleTurn(run);
    }
    const fired = [...state.timers.values()].filter((timer) => !timer.firing && timer.firesAt <= now);
    fired.sort((a, b) => a.firesAt - b.firesAt || a.startedEventId - b.startedEventId);
    for (const { timerId, startedEventId } of fired) {
      this.machine.lifecycle.receive(run, [{ type: 'TIMER_FIRED', attributes: { timerId, startedEventId } }]);
    }
    this.machine.steps.due(run, now);
    if (run.heldBack && run.heldBack.retryAt <= now) this.machine.turns.retryHeldBack(run);
  }
}
