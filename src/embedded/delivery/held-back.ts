/** Runs whose turn no connected code can make: they wait, never fail, and go on when fitting code is there. */
import type { Failure } from '../../core/history/failure.js';
import type { Kernel } from '../kernel.js';
import type { Lifecycle } from '../life/lifecycle.js';
import type { ActiveRun, FailedTurn, HeldBack } from '../store/active-run.js';
import type { Queries } from './queries.js';

/** The wait before a failed turn is tried again: 1 s, then four times as long each time, up to ten minutes. */
const TURN_BACKOFF = { firstMs: 1_000, factor: 4, maximumMs: 600_000 };

/** Versions of code that a held back run remembers not to fit: far more than are ever deployed side by side. */
const MAX_MISFITS = 20;

export class HeldBackRuns {
  constructor(
    private readonly kernel: Kernel,
    private readonly lifecycle: Lifecycle,
    private readonly queries: Queries,
  ) {}

  /** No connected code can make the turn. */
  holdBack(run: ActiveRun, failedTurn: FailedTurn, endsWorkers = false): void {
    const { startedAt, cause, failure } = failedTurn;
    const now = this.kernel.clock.now();
    const scheduledEventId = run.state.turnScheduledEventId;
    if (!run.heldBack && scheduledEventId !== undefined) {
      const started = this.lifecycle.append(
        run,
        { type: 'WORKFLOW_TASK_STARTED', attributes: { scheduledEventId } },
        startedAt,
      );
      this.lifecycle.append(
        run,
        {
          type: 'WORKFLOW_TASK_FAILED',
          attributes: { scheduledEventId, startedEventId: started.id, cause, failure },
        },
        now,
      );
    }
    if (!run.heldBack) this.#tellHeldBack(run, failure);
    const heldBack: HeldBack = {
      reason: failure.message,
      since: run.heldBack?.since ?? now,
      attempt: run.heldBack?.attempt ?? 0,
      ...(endsWorkers && { endsWorkers }),
      // A run that has been offered to more versions than that is tried again by those that come; that costs one turn.
      misfits: [...run.misfits].slice(-MAX_MISFITS),
    };
    // From here on what is held against the turn is on disk.
    run.lostTurns = 0;
    run.doubted = undefined;
    run.failedTurn = undefined;
    this.queries.refuseAll(run, failure.message);
    this.waitOn(run, heldBack);
    this.lifecycle.takeInbox(run);
    if (scheduledEventId !== undefined) this.lifecycle.scheduleTurn(run);
  }

  #tellHeldBack({ state: { workflowId, runId, started } }: ActiveRun, { message }: Failure): void {
    this.kernel.log.warn(
      { workflowId, runId, catalog: started.catalog },
      `run of "${started.workflowType}" is held back, since no connected code can go on with it: ${message}. It goes on when fitting code is deployed`,
    );
  }

  /** The run is held back until its next try, which is longer away each time. */
  waitOn(run: ActiveRun, heldBack: HeldBack): void {
    const attempt = heldBack.attempt + 1;
    const { firstMs, factor, maximumMs } = TURN_BACKOFF;
    const waitMs = Math.min(firstMs * factor ** (attempt - 1), maximumMs);
    run.heldBack = { ...heldBack, attempt, retryAt: this.kernel.clock.now() + waitMs };
    run.changed = true;
    this.kernel.commit.changed(run);
  }

  /** Code that fits has made a turn of a run that was held back. */
  goesOn(run: ActiveRun): void {
    run.heldBack = undefined;
    run.changed = true;
    const { workflowId, runId, started } = run.state;
    this.kernel.log.info(
      { workflowId, runId },
      `run of "${started.workflowType}" goes on: connected code fits its history`,
    );
  }

  /** Nothing is held back any more when what the turn was for has gone: only messages can. */
  lapse(run: ActiveRun): void {
    if (!run.heldBack || run.needsTurn) return;
    run.heldBack = undefined;
    run.changed = true;
    this.kernel.commit.changed(run);
  }

  /** A held back run gets another try: its time has come, and then by any code, or code has connected that may fit. */
  retry(run: ActiveRun, isNewCode = false): void {
    if (!run.heldBack || run.isClosed) return;
    run.misfits.clear();
    if (isNewCode) {
      run.heldBack.endsWorkers = undefined;
      for (const id of run.heldBack.misfits ?? []) run.misfits.add(id);
    }
    run.heldBack.retryAt = undefined;
    run.changed = true;
    this.kernel.commit.changed(run);
    this.lapse(run);
    this.lifecycle.goOn(run);
  }
}
