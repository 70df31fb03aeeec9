/**
 * Time: runs whose instant has come. One timer for all of them; the instants themselves are a column on disk, so a
 * sleeping run costs no memory.
 *
 * 1. Nothing happens early by the clock, and nothing waits for longer than the clock says: somebody may set it while the
 *    timer runs, so it is looked at again and again until the instant has come.
 * 2. What has come in time is heard before anything is called late: after this process was suspended or blocked, the answers of
 *    workers wait to be read, and workers that were suspended with it have yet to speak.
 */

import type { Timer } from '../../core/clock.js';
import { faultPoint } from '../../core/fault-point.js';
import type { HeldBackRuns } from '../delivery/held-back.js';
import type { StepDelivery } from '../delivery/steps.js';
import type { Kernel } from '../kernel.js';
import type { Damage } from '../life/damage.js';
import type { Lifecycle } from '../life/lifecycle.js';
import { firstTurnDueAt } from '../state/run-state.js';
import type { ActiveRun } from '../store/active-run.js';

/** How late something may become due after the clock was set. A look costs nothing but a comparison. */
const LOOK_AGAIN_MS = 1_000;

/** So late comes a look only where this process got nowhere meanwhile. */
const LATE_MS = 250;
/** As long as it was late itself, and at most so long, it waits for what others have to say. */
const HEAR_MS = 1_000;

/** After a look at a table that cannot be read. */
const DAMAGED_MS = 60_000;

/** Runs woken before other work gets its turn. */
const BATCH = 200;

export class Waking {
  #timer: Timer | undefined;
  #nextAt = Number.POSITIVE_INFINITY;
  #isStopped = false;

  constructor(
    private readonly kernel: Kernel,
    private readonly lifecycle: Lifecycle,
    private readonly steps: StepDelivery,
    private readonly heldBack: HeldBackRuns,
    private readonly damage: Damage,
  ) {}

  start(): void {
    const next = this.kernel.tables.runs.nextWakeAt();
    if (next !== undefined) this.#arm(next);
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  /** Runs were committed: their instants may be earlier than the one waited for. */
  committed(runs: Iterable<ActiveRun>): void {
    for (const run of runs) if (run.savedWakeAt !== undefined) this.#arm(run.savedWakeAt);
  }

  #arm(at: number): void {
    if (this.#isStopped || at >= this.#nextAt) return;
    this.#nextAt = at;
    this.#wait();
  }

  #wait(): void {
    this.#timer?.cancel();
    const { clock } = this.kernel;
    const leftMs = Math.max(0, this.#nextAt - clock.now());
    const waitMs = clock.isNeverSet ? leftMs : Math.min(leftMs, LOOK_AGAIN_MS);
    const expectedAt = this.kernel.scheduler.monotonicMs() + waitMs;
    this.#timer = this.kernel.scheduler.after(waitMs, () => {
      const lateMs = this.kernel.scheduler.monotonicMs() - expectedAt;
      if (this.kernel.clock.now() < this.#nextAt) this.#wait();
      else if (lateMs < LATE_MS) this.#wakeDue();
      else this.#timer = this.kernel.scheduler.after(Math.min(lateMs, HEAR_MS), () => this.#wakeDue());
    });
  }

  #wakeDue(): void {
    if (!this.damage.contain(() => this.#wake())) this.#arm(this.kernel.clock.now() + DAMAGED_MS);
  }

  #wake(): true {
    this.#nextAt = Number.POSITIVE_INFINITY;
    const now = this.kernel.clock.now();
    const due = this.kernel.tables.runs.due(now, BATCH);
    for (const runId of due) {
      const run = this.kernel.runs.get(runId);
      if (!run) continue;
      this.#process(run, now);
      // The column may be earlier than the true instant; it is set right, so that the run is not found again at once.
      run.changed = true;
      this.kernel.commit.changed(run);
    }
    this.kernel.commit.afterCommit(() => {
      const next = this.kernel.tables.runs.nextWakeAt();
      // Where nothing could be done about what is due, it is not looked at again and again.
      if (next !== undefined) this.#arm(due.length > 0 ? next : Math.max(next, now + LOOK_AGAIN_MS));
    });
    return true;
  }

  #process(run: ActiveRun, now: number): void {
    const { state } = run;
    if (run.isClosed || (run.dueAt ?? Number.POSITIVE_INFINITY) > now) return;
    if (state.executionExpiresAt !== undefined && state.executionExpiresAt <= now) {
      this.lifecycle.endFromOutside(run, { type: 'WORKFLOW_EXECUTION_TIMED_OUT', attributes: {} });
      return;
    }
    const firstTurnAt = firstTurnDueAt(state);
    if (firstTurnAt !== undefined && firstTurnAt <= now) this.lifecycle.scheduleTurn(run);
    const fired = [...state.timers.values()].filter((timer) => !timer.firing && timer.firesAt <= now);
    fired.sort((a, b) => a.firesAt - b.firesAt || a.startedEventId - b.startedEventId);
    for (const { timerId, startedEventId } of fired) {
      this.lifecycle.receive(run, [{ type: 'TIMER_FIRED', attributes: { timerId, startedEventId } }]);
      faultPoint('timerDue');
    }
    this.steps.due(run, now);
    if (run.heldBack?.retryAt !== undefined && run.heldBack.retryAt <= now) this.heldBack.retry(run);
  }
}
