/**
 * After a start: the runs that had something queued or with a worker when the last process ended are taken up, a few
 * at a time, or when somebody else needs them first. Runs that only wait are not read.
 */

import type { HeldBackRuns } from '../delivery/held-back.js';
import type { StepEndings } from '../delivery/step-endings.js';
import type { StepQueue } from '../delivery/step-queue.js';
import type { Kernel } from '../kernel.js';
import type { Damage } from '../life/damage.js';
import type { Lifecycle } from '../life/lifecycle.js';
import type { Relations } from '../life/relations.js';
import type { ActiveRun } from '../store/active-run.js';

/** Runs taken up before other work gets its turn. */
const BATCH = 100;

export class Recovery {
  readonly #toTakeUp = new Set<string>();
  #isStopped = false;

  constructor(
    private readonly kernel: Kernel,
    private readonly lifecycle: Lifecycle,
    private readonly relations: Relations,
    private readonly stepQueue: StepQueue,
    private readonly stepEndings: StepEndings,
    private readonly heldBack: HeldBackRuns,
    private readonly damage: Damage,
  ) {}

  start(): void {
    for (const runId of this.kernel.tables.runs.active()) this.#toTakeUp.add(runId);
    this.#takeUpSome();
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** A run came into memory: it has no turn under way, so what waited in its inbox comes into its history. */
  loaded(run: ActiveRun): void {
    if (!run.isClosed) this.lifecycle.takeInbox(run);
    // Messages are not kept, so nobody waits for it now.
    this.heldBack.lapse(run);
    if (this.#toTakeUp.delete(run.state.runId) && !run.isClosed) this.#takeUp(run);
  }

  readonly #takeUpSome = (): void => {
    if (this.#isStopped) return;
    let count = 0;
    for (const runId of this.#toTakeUp) {
      this.damage.contain(() => this.kernel.runs.get(runId));
      // Loading takes it up, unless it is in memory already, and then it has been.
      this.#toTakeUp.delete(runId);
      if (++count >= BATCH) break;
    }
    if (this.#toTakeUp.size > 0) this.kernel.scheduler.soon(this.#takeUpSome);
  };

  #takeUp(run: ActiveRun): void {
    for (const step of [...run.state.steps.values()]) {
      if (step.delivery.status === 'queued') this.stepQueue.enqueue(run, step);
      else if (step.delivery.status === 'running') {
        run.handedOut.delete(step.scheduledEventId);
        this.stepEndings.attemptLost(run, step, 'the server stopped while the step was running', 'innocent');
      }
    }
    this.#hearOfChildren(run);
    if (run.needsTurn) this.lifecycle.queueTurn(run);
    if (run.savedActive && !run.isActive) {
      run.changed = true;
      this.kernel.commit.changed(run);
    }
  }

  /** While a run was set apart nobody could tell it that a child had closed. */
  #hearOfChildren(run: ActiveRun): void {
    for (const child of [...run.state.children.values()]) {
      const event = child.closing ? undefined : this.relations.closedSince(child);
      if (event) this.lifecycle.receive(run, [event]);
    }
  }
}
