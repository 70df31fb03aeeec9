/**
 * After a start: the runs that had something queued or with a worker when the last process ended are taken up, a few
 * at a time, or when somebody else needs them first. Runs that only wait are not read.
 */
import type { ActiveRun } from './active-run.js';
import type { Machine } from './machine.js';

/** Runs taken up before other work gets its turn. */
const BATCH = 100;

export class Recovery {
  readonly #toTakeUp = new Set<string>();
  #isStopped = false;

  constructor(private readonly machine: Machine) {}

  start(): void {
    for (const runId of this.machine.tables.activeRuns()) this.#toTakeUp.add(runId);
    this.#takeUpSome();
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** A run came into memory: it has no turn under way, so what waited in its inbox comes into its history. */
  loaded(run: ActiveRun): void {
    if (!run.isClosed) this.machine.lifecycle.takeInbox(run);
    if (this.#toTakeUp.delete(run.state.runId) && !run.isClosed) this.#takeUp(run);
  }

  readonly #takeUpSome = (): void => {
    if (this.#isStopped) return;
    let count = 0;
    for (const runId of this.#toTakeUp) {
      this.machine.runs.get(runId);
      // Loading takes it up, unless it is in memory already, and then it has been.
      this.#toTakeUp.delete(runId);
      if (++count >= BATCH) break;
    }
    if (this.#toTakeUp.size > 0) setImmediate(this.#takeUpSome);
  };

  #takeUp(run: ActiveRun): void {
    for (const step of [...run.state.steps.values()]) {
      if (step.delivery.status === 'queued') this.machine.steps.enqueue(run, step);
      else if (step.delivery.status === 'running') {
        run.handedOut.delete(step.scheduledEventId);
        this.machine.steps.attemptLost(run, step, 'the server stopped while the step was running', 'other');
      }
    }
    if (run.needsTurn) this.machine.lifecycle.queueTurn(run);
  }
}
