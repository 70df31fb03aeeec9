/**
 * All runs of one program while they happen: the first one, those that it continues as or is retried as, its children
 * and theirs. Each history is followed to its end, and `isAtRest` says whether nothing more happens by itself.
 */
import { CLOSE_EVENTS, type HistoryEvent } from '../../src/core/history/event.js';
import type { Engine } from '../../src/engine.js';
import type { Holds } from './holds.js';
import { RunView } from './run-view.js';

/** Longer than anything takes of which no history tells; a family that does nothing for so long hangs. */
const SILENCE_MS = 60_000;
const LONG_POLL_MS = 10_000;

export class Family {
  readonly runs: RunView[] = [];
  readonly #abort = new AbortController();
  readonly #following: Promise<void>[] = [];
  readonly #stopWatching: () => void;
  #changed: () => void = () => {};
  #broken: unknown;

  constructor(
    private readonly engine: Engine,
    private readonly holds: Holds,
  ) {
    this.#stopWatching = holds.watch((runId) => {
      if (this.runs.some((run) => run.runId === runId)) this.#changed();
    });
  }

  follow(workflowId: string, runId: string): void {
    if (this.runs.some((run) => run.runId === runId)) return;
    const run = new RunView(workflowId, runId);
    this.runs.push(run);
    this.#following.push(
      this.#read(run).catch((error: unknown) => {
        if (this.#abort.signal.aborted) return;
        this.#broken = error;
        this.#changed();
      }),
    );
  }

  /** Something happened that may be what is waited for. */
  notify(): void {
    this.#changed();
  }

  /** The latest run of each workflow that is open, in the order of the statements that called them. */
  open(): RunView[] {
    return this.runs.filter((run) => !run.isClosed).sort((one, other) => one.site - other.site);
  }

  get runIds(): ReadonlySet<string> {
    return new Set(this.runs.map(({ runId }) => runId));
  }

  /** Those that nothing but their budget keeps from going on. */
  waitingForBudget(): RunView[] {
    return this.open().filter((run) => run.waitsForBudget !== undefined);
  }

  /** The last run of that id that is known. */
  latest(workflowId: string): RunView | undefined {
    return this.runs.findLast((run) => run.workflowId === workflowId);
  }

  async untilAtRest(): Promise<void> {
    await this.until(() => this.isAtRest(), 'nothing happens any more');
  }

  /** Resolves once `holds`, which is asked whenever something happened. */
  async until(holds: () => boolean, what: string): Promise<void> {
    for (;;) {
      if (this.#broken) throw this.#broken;
      if (holds()) return;
      const isLate = await new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(true), SILENCE_MS);
        this.#changed = () => {
          clearTimeout(timer);
          resolve(false);
        };
      });
      if (isLate)
        throw new Error(`nothing for ${SILENCE_MS} ms, waiting until ${what}:\n${this.#describe()}`);
    }
  }

  isAtRest(): boolean {
    return (
      this.runs.every((run) => run.isClosed || this.#restless(run) === undefined) &&
      this.runs.every((run) => this.#isSettled(run))
    );
  }

  async stop(): Promise<void> {
    this.#stopWatching();
    this.#abort.abort();
    await Promise.all(this.#following);
    for (const run of this.runs) this.holds.releaseRun(run.runId);
  }

  async #read(run: RunView): Promise<void> {
    const { workflowId, runId } = run;
    for (;;) {
      const page = await this.engine.history(
        { workflowId, runId },
        {
          afterEventId: run.events.length,
          limit: 1000,
          waitMs: LONG_POLL_MS,
          abort: this.#abort.signal,
        },
      );
      for (const event of page.events) this.#arrived(run, event);
      if (page.events.length > 0) this.#changed();
      if (page.ended || this.#abort.signal.aborted) return;
    }
  }

  #arrived(run: RunView, event: HistoryEvent): void {
    run.add(event);
    if (event.type === 'CHILD_WORKFLOW_EXECUTION_STARTED') {
      const { workflowId, runId } = event.attributes.workflowExecution;
      this.follow(workflowId, runId);
    }
    if (!CLOSE_EVENTS.has(event.type)) return;
    const { newExecutionRunId } = event.attributes as { newExecutionRunId?: string };
    if (newExecutionRunId) this.follow(run.workflowId, newExecutionRunId);
  }

  /** Why an open run will go on without anything from outside of the family, or undefined. */
  #restless(run: RunView): string | undefined {
    if (!run.isTurnDone) return 'a turn is due';
    // Its time will run out.
    if (run.workflowType === 'timed') return 'it runs out of time';
    for (const step of run.pendingSteps()) {
      if (step.isCancelRequested) return `step ${step.site} is being cancelled`;
      if (!run.isHeldBack && !this.holds.isHeld(run.runId, step.site))
        return `step ${step.site} is under way`;
    }
    if (run.pendingShortTimers().length > 0) return 'a timer will fire';
    if (run.pendingMessages().length > 0) return 'a message is on its way';
    for (const child of run.pendingChildren()) {
      if (!child.runId) return `child ${child.workflowId} is being started`;
      if (this.latest(child.workflowId)?.isClosed) return `child ${child.workflowId} has ended`;
    }
    return undefined;
  }

  /** Whether what the run did to others has arrived there. */
  #isSettled(run: RunView): boolean {
    if (run.isClosed && !this.#hasLetGo(run)) return false;
    return run.events.every((event) => {
      switch (event.type) {
        case 'EXTERNAL_WORKFLOW_EXECUTION_SIGNALED':
          return this.#haveSignalsArrived(event.attributes.workflowExecution.workflowId);
        case 'EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED':
          return this.#isCancelled(event.attributes.workflowExecution.workflowId);
        default:
          return true;
      }
    });
  }

  /** Whether the children of a closed run have been told to stop, as far as they are to be told. */
  #hasLetGo(run: RunView): boolean {
    return run
      .pendingChildren()
      .every(
        (child) =>
          child.parentClosePolicy === 'ABANDON' || !child.runId || this.#isCancelled(child.workflowId),
      );
  }

  #runsOf(workflowId: string): RunView[] {
    return this.runs.filter((run) => run.workflowId === workflowId);
  }

  #isCancelled(workflowId: string): boolean {
    const runs = this.#runsOf(workflowId);
    return runs.at(-1)?.isClosed !== false || runs.some((run) => run.isCancelRequested);
  }

  #haveSignalsArrived(workflowId: string): boolean {
    const runs = this.#runsOf(workflowId);
    if (runs.at(-1)?.isClosed !== false) return true;
    const sent = this.runs
      .flatMap((run) => run.events)
      .filter(
        (event) =>
          event.type === 'EXTERNAL_WORKFLOW_EXECUTION_SIGNALED' &&
          event.attributes.workflowExecution.workflowId === workflowId,
      );
    const received = runs
      .flatMap((run) => run.events)
      .filter(
        (event) => event.type === 'WORKFLOW_EXECUTION_SIGNALED' && event.attributes.externalWorkflowExecution,
      );
    return received.length >= sent.length;
  }

  #describe(): string {
    return this.runs
      .map((run) => {
        const state = run.isClosed ? 'closed' : (this.#restless(run) ?? 'at rest');
        return `${run.workflowId} ${run.runId}: ${state}\n  ${run.events.map((event) => event.type).join(' ')}`;
      })
      .join('\n');
  }
}
