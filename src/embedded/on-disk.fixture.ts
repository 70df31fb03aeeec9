/**
 * On disk before it is visible: what the engine tells a worker or a caller is held, in the moment in which it is told,
 * against what a kill would leave. Owns what has been told of each engine; what was told too early is kept until the end
 * of the test, since the engine must not notice.
 */
import { PerdureError } from '../core/errors.js';
import type { EventTypeName } from '../core/history/event.js';
import type { ToWorker } from '../core/task.js';
import type { RunRef } from '../engine.js';
import { eventsWithInbox } from './commit-check.fixture.js';
import type { EmbeddedEngine } from './index.js';
import type { Tables } from './store/tables/tables.js';

export class OnDisk {
  static readonly #byEngine = new WeakMap<EmbeddedEngine, OnDisk>();
  /** As of the last commit; undefined before the first. */
  tables: Tables | undefined;
  readonly tooEarly: string[] = [];
  /** How often callers were told that something has happened to a workflow. */
  readonly #told = new Map<string, number>();

  static of(engine: EmbeddedEngine): OnDisk | undefined {
    return OnDisk.#byEngine.get(engine);
  }

  /** From now on every answer of the engine is looked at. */
  watch(engine: EmbeddedEngine): void {
    OnDisk.#byEngine.set(engine, this);
    const { start, signal, cancel, terminate, reset, update, outcome } = engine;
    engine.start = async (request) => {
      const run = await this.#heard(start.call(engine, request));
      // A key that an earlier process has stored needs no commit of this one.
      const isKnown = request.idempotency !== undefined && this.tables === undefined;
      if (!request.isAwaited && !isKnown) this.#requireRow(run, 'the start');
      return run;
    };
    engine.signal = async (selector, name, input, options) => {
      const run = await this.#heard(signal.call(engine, selector, name, input, options));
      if (options?.requestId === undefined) {
        this.#requireEvent(run.workflowId, 'WORKFLOW_EXECUTION_SIGNALED', name);
      } else if (this.#count(run.workflowId, 'WORKFLOW_EXECUTION_SIGNALED', name) === 0 && this.tables) {
        // A repeat, after a restart also one of a signal that another process has stored, adds none.
        this.#add('a signal', run);
      }
      return run;
    };
    engine.cancel = async (selector) => {
      const run = await cancel.call(engine, selector);
      const isThere =
        run.status === 'running'
          ? this.#count(run.workflowId, 'WORKFLOW_EXECUTION_CANCEL_REQUESTED') > 0
          : this.tables === undefined || this.tables.runs.byId(run.runId)?.status === run.status;
      if (!isThere) this.#add('a cancel', run);
      return run;
    };
    engine.terminate = async (selector, reason) => {
      const run = await this.#heard(terminate.call(engine, selector, reason));
      if (this.tables?.runs.byId(run.runId)?.status !== 'terminated') this.#add('a terminate', run);
      return run;
    };
    engine.reset = async (selector, point) => {
      const run = await reset.call(engine, selector, point);
      this.#requireRow(run, 'the reset');
      return run;
    };
    engine.update = async (selector, name, input, traceContext) => {
      const result = await this.#heard(update.call(engine, selector, name, input, traceContext));
      this.#requireEvent(selector.workflowId, 'WORKFLOW_EXECUTION_UPDATE_COMPLETED');
      return result;
    };
    engine.outcome = async (selector, options) => {
      const result = await outcome.call(engine, selector, options);
      // Before the first commit of this engine all that it knows is from an earlier one.
      if (result && this.tables && this.tables.runs.byId(result.runId)?.status !== result.status) {
        this.#add(`the outcome ${result.status}`, result);
      }
      return result;
    };
  }

  /** An attempt goes out when it is on disk as made, and is told to stop when what ends it is there. */
  sent(message: ToWorker): void {
    if (message.kind !== 'step' && message.kind !== 'stopStep') return;
    const { runId, scheduledEventId, attempt } = message;
    const row = this.tables?.runs.byId(runId);
    const stored = row && this.tables!.loadRun(row);
    const step = stored?.state.steps.get(scheduledEventId);
    const isRunning = step?.delivery.status === 'running' && step.delivery.attempt === attempt;
    if (message.kind === 'step') {
      if (!isRunning) this.tooEarly.push(`attempt ${attempt} of step ${scheduledEventId} went out`);
    } else if (message.reason === 'cancelled') {
      if (step?.cancelRequestedEventId === undefined && step) this.tooEarly.push('a step was told to stop');
    } else if (isRunning && !stored?.inbox.length) {
      this.tooEarly.push(`step ${scheduledEventId} was told to stop (${message.reason})`);
    }
  }

  /** Whoever is refused on account of a run hears of what is on disk. */
  async #heard<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof PerdureError) this.#lookAtRefusal(error);
      throw error;
    }
  }

  #lookAtRefusal({ name, details }: PerdureError): void {
    const isClosed = name === 'WorkflowAlreadyClosedError';
    if (!isClosed && name !== 'WorkflowAlreadyExistsError') return;
    const { workflowId, runId } = (details ?? {}) as Partial<RunRef>;
    if (!this.tables || workflowId === undefined || runId === undefined) return;
    const status = this.tables.runs.byId(runId)?.status;
    if (isClosed && status === 'running') this.#add('the end', { workflowId, runId });
    if (!isClosed && !status) this.#add('an earlier start', { workflowId, runId });
  }

  #requireRow(run: RunRef, what: string): void {
    if (!this.tables?.runs.byId(run.runId)) this.#add(what, run);
  }

  #requireEvent(workflowId: string, type: EventTypeName, name?: string): void {
    const key = `${workflowId}/${type}/${name}`;
    const told = (this.#told.get(key) ?? 0) + 1;
    this.#told.set(key, told);
    if (this.#count(workflowId, type, name) < told) this.tooEarly.push(`${key} number ${told} was told`);
  }

  /** Over all runs of the id; those that were copied by a reset count twice, which is no matter here. */
  #count(workflowId: string, type: EventTypeName, name?: string): number {
    const keys = { from: 0, before: Number.MAX_SAFE_INTEGER };
    let count = 0;
    for (const row of this.tables?.runs.list({ workflowId }, keys, 100) ?? []) {
      for (const event of eventsWithInbox(this.tables!, row)) {
        const { signalName } = event.attributes as { signalName?: string };
        if (event.type === type && (name === undefined || signalName === name)) count++;
      }
    }
    return count;
  }

  #add(what: string, { workflowId }: RunRef): void {
    this.tooEarly.push(`${what} of ${workflowId} was told`);
  }
}
