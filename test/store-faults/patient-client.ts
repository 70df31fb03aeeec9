/**
 * A caller who knows what to do when the server goes away in the middle of a call: the engine port, over an engine that
 * stops when its disk fails and is started again.
 *
 * 1. An answer of an engine that is alive is the answer, also when it is an error. Only "the disk is full" is taken as it
 *    is meant: nothing was done, come back later.
 * 2. A call whose engine has gone is unclear. It is made again where a repeat changes nothing: reads, starts (with an
 *    idempotency key, as callers should), requests to stop. A signal, an update or a reset is looked for in what is stored,
 *    and made again only if it is not there.
 */
import { randomUUID } from 'node:crypto';
import type { Catalog } from '../../src/core/catalog.js';
import type { BudgetState } from '../../src/core/cost/budget.js';
import type { CostScope, RunCosts } from '../../src/core/cost/sums.js';
import { PerdureError } from '../../src/core/errors.js';
import type { PausedBy } from '../../src/core/run/pause.js';
import type { Why } from '../../src/core/run/why.js';
import type { Payload } from '../../src/core/values/json.js';
import type {
  Backup,
  CostReport,
  Engine,
  HistoryOptions,
  HistoryPage,
  OutcomeOptions,
  PauseRequest,
  ResetPoint,
  RunDescription,
  RunFilter,
  RunOutcome,
  RunPage,
  RunRef,
  RunSelector,
  SignalOptions,
  StartRequest,
  StoppedRun,
  TraceInfo,
  WorkerDescription,
} from '../../src/engine.js';
import { Operation, type OperationKind, type Operations, type Trace } from './operations.js';

/** The engine of the moment. */
export interface Lives {
  /** Resolves with an engine that serves. */
  current(): Promise<Engine>;
  /** Whether it has failed or was closed, so that what it leaves unanswered is unclear. */
  isOver(engine: Engine): boolean;
  /** Whether it may acknowledge nothing any more: what was on disk before it failed is still on its way to callers. */
  isSilent(engine: Engine): boolean;
}

/** Lives that one call may outlast; more of them are a service that gets nowhere. */
const MAX_TRIES = 200;

/** Who is told to come again does not come at once: a file that is locked is tried again as often as that. */
const PAUSE_MS = 50;

export class PatientClient implements Engine {
  constructor(
    private readonly lives: Lives,
    private readonly operations: Operations,
    private readonly onStarted: (workflowId: string) => void = () => {},
  ) {}

  ready(): Promise<void> {
    return this.#repeat((engine) => engine.ready());
  }

  async start(request: StartRequest): Promise<RunRef> {
    const idempotency = request.idempotency ?? { key: randomUUID(), fingerprint: '' };
    const operation = new Operation('start', request.workflowId ?? '');
    const ref = await this.#tracked(operation, (engine) => engine.start({ ...request, idempotency }));
    this.onStarted(ref.workflowId);
    return ref;
  }

  describe(selector: RunSelector, options?: { withInput?: boolean }): Promise<RunDescription> {
    return this.#repeat((engine) => engine.describe(selector, options));
  }

  outcome(selector: RunSelector, options?: OutcomeOptions): Promise<RunOutcome | undefined> {
    return this.#repeat((engine) => engine.outcome(selector, options));
  }

  history(selector: RunSelector, options: HistoryOptions): Promise<HistoryPage> {
    return this.#repeat((engine) => engine.history(selector, options));
  }

  signal(selector: RunSelector, name: string, input: Payload[], options?: SignalOptions): Promise<RunRef> {
    // Known by its request id, it is there once however often it is sent.
    if (options?.requestId) return this.#repeat((engine) => engine.signal(selector, name, input, options));
    const operation = new Operation('signal', selector.workflowId, name, input);
    return this.#tracked(
      operation,
      (engine) => engine.signal(selector, name, input),
      async ({ ref }) => ref,
    );
  }

  query(selector: RunSelector, name: string, input: Payload[]): Promise<Payload | undefined> {
    return this.#repeat((engine) => engine.query(selector, name, input));
  }

  update(selector: RunSelector, name: string, input: Payload[]): Promise<Payload | undefined> {
    const operation = new Operation('update', selector.workflowId, name, input);
    return this.#tracked(
      operation,
      (engine) => engine.update(selector, name, input),
      (found) => this.#outcomeOfUpdate(found),
    );
  }

  callbackKey(): Promise<string | undefined> {
    return this.#repeat((engine) => engine.callbackKey());
  }

  cancel(selector: RunSelector): Promise<StoppedRun> {
    const operation = new Operation('cancel', selector.workflowId);
    // Asked again it tells what the run is, whoever has ended it.
    return this.#tracked(operation, async (engine) => {
      const stopped = await engine.cancel(selector);
      operation.foundClosed = stopped.status !== 'running';
      return stopped;
    });
  }

  /** Asked again they change nothing. */
  pause(selector: RunSelector, request: PauseRequest): Promise<RunRef> {
    return this.#repeat((engine) => engine.pause(selector, request));
  }

  resume(selector: RunSelector, options?: { onlyBy?: PausedBy }): Promise<RunRef> {
    return this.#lettingGo(
      (engine) => engine.resume(selector, options),
      async () => {
        const { workflowId, runId } = await this.describe(selector);
        return { workflowId, runId };
      },
    );
  }

  why(selector: RunSelector): Promise<Why> {
    return this.#repeat((engine) => engine.why(selector));
  }

  terminate(selector: RunSelector, reason: string): Promise<RunRef> {
    return this.#ending('terminate', selector, (engine) => engine.terminate(selector, reason));
  }

  reset(selector: RunSelector, point: ResetPoint): Promise<RunRef> {
    return this.#tracked(
      new Operation('reset', selector.workflowId),
      (engine) => engine.reset(selector, point),
      async ({ ref }) => ref,
    );
  }

  cost(selector: RunSelector, scope: CostScope, take: (run: RunCosts) => void): Promise<CostReport> {
    return this.#repeat(async (engine) => {
      // What a try that fails has brought counts for nothing.
      const runs: RunCosts[] = [];
      const report = await engine.cost(selector, scope, (run) => runs.push(run));
      for (const run of runs) take(run);
      return report;
    });
  }

  setBudget(selector: RunSelector, amount: string): Promise<RunRef & { budget: BudgetState }> {
    return this.#lettingGo(
      (engine) => engine.setBudget(selector, amount),
      async () => {
        const { budget, ...ref } = await this.cost(selector, 'run', () => {});
        return budget?.amount === amount ? { ...ref, budget } : undefined;
      },
    );
  }

  list(filter: RunFilter, page: { limit: number; cursor?: string }): Promise<RunPage> {
    return this.#repeat((engine) => engine.list(filter, page));
  }

  recordTrace(run: RunRef, trace: TraceInfo): Promise<void> {
    return this.#repeat((engine) => engine.recordTrace(run, trace));
  }

  backup(): Promise<Backup> {
    return this.#repeat((engine) => engine.backup());
  }

  catalogNames(): Promise<string[]> {
    return this.#repeat((engine) => engine.catalogNames());
  }

  workers(): Promise<WorkerDescription[]> {
    return this.#repeat((engine) => engine.workers());
  }

  catalog(name: string, since?: number): Promise<Catalog | undefined> {
    return this.#repeat((engine) => engine.catalog(name, since));
  }

  async close(): Promise<void> {
    await (await this.lives.current()).close();
  }

  /** Makes the call until an engine has answered it. `between` may know the answer when one has gone without. */
  async #repeat<T>(
    call: (engine: Engine) => Promise<T>,
    between: () => Promise<{ answer: T } | undefined> = async () => undefined,
  ): Promise<T> {
    for (let tries = 1; ; tries++) {
      const engine = await this.lives.current();
      try {
        return await call(engine);
      } catch (error) {
        if (tries >= MAX_TRIES || !isPassing(error)) throw error;
        const { name, message } = error as Error;
        if (name === 'StorageFullError' || message.includes('just now')) {
          await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
          continue;
        }
        if (!this.lives.isOver(engine)) throw error;
      }
      // The next engine is there only when what this one has left was looked through.
      await this.lives.current();
      const known = await between();
      if (known) return known.answer;
    }
  }

  /** What was asked for may have let the run come to its end before it is asked for again; then `done` knows the answer. */
  #lettingGo<T>(call: (engine: Engine) => Promise<T>, done: () => Promise<T | undefined>): Promise<T> {
    let isRepeat = false;
    return this.#repeat(async (engine) => {
      try {
        return await call(engine);
      } catch (error) {
        const mayBeDone = isRepeat && (error as Error).name === 'WorkflowAlreadyClosedError';
        const answer = mayBeDone ? await done() : undefined;
        if (answer === undefined) throw error;
        return answer;
      } finally {
        isRepeat = true;
      }
    });
  }

  /** A call of which the ledger keeps account. `answerOf` makes its answer from what was found of it. */
  async #tracked<T>(
    operation: Operation,
    call: (engine: Engine) => Promise<T>,
    answerOf?: (found: Trace) => Promise<T>,
  ): Promise<T> {
    this.operations.sent(operation);
    try {
      const answer = await this.#repeat(
        async (engine) => {
          operation.state = 'sent';
          const answer = await call(engine);
          if (this.lives.isSilent(engine)) this.operations.acknowledgedTooLate(operation);
          return answer;
        },
        async () => (operation.found && answerOf ? { answer: await answerOf(operation.found) } : undefined),
      );
      operation.state = 'acknowledged';
      if (isRef(answer)) operation.ref = answer;
      return answer;
    } catch (error) {
      // An update that failed was taken before it did.
      operation.state = (error as Error).name === 'UpdateFailedError' ? 'acknowledged' : 'refused';
      throw error;
    }
  }

  /** Of an update that was accepted by an engine that is gone. */
  async #outcomeOfUpdate({ ref, updateId }: Trace): Promise<Payload | undefined> {
    for (let afterEventId = 0; ; ) {
      const page = await this.history(ref, { afterEventId, limit: 1_000, waitMs: 1_000 });
      for (const event of page.events) {
        afterEventId = event.id;
        if (event.type !== 'WORKFLOW_EXECUTION_UPDATE_COMPLETED' || event.attributes.updateId !== updateId)
          continue;
        const { result, failure } = event.attributes;
        if (failure) throw new PerdureError('UpdateFailedError', failure.message, ref);
        return result;
      }
      if (page.ended) throw new PerdureError('UpdateFailedError', 'the run closed before its update', ref);
    }
  }

  /** To find a run ended by what was asked for before is what was asked for. */
  async #ending(
    kind: OperationKind,
    selector: RunSelector,
    call: (engine: Engine) => Promise<RunRef>,
  ): Promise<RunRef> {
    const before = await this.#latest(selector);
    let isRepeat = false;
    return this.#tracked(new Operation(kind, selector.workflowId), async (engine) => {
      try {
        return await call(engine);
      } catch (error) {
        if (!isRepeat || (error as Error).name !== 'WorkflowAlreadyClosedError' || !before) throw error;
        if (await this.#hasEnded(kind, before)) return before;
        throw error;
      } finally {
        isRepeat = true;
      }
    });
  }

  async #latest(selector: RunSelector): Promise<RunRef | undefined> {
    try {
      const { workflowId, runId } = await this.describe(selector);
      return { workflowId, runId };
    } catch {
      return undefined;
    }
  }

  async #hasEnded(kind: OperationKind, run: RunRef): Promise<boolean> {
    const type = kind === 'cancel' ? 'WORKFLOW_EXECUTION_CANCEL_REQUESTED' : 'WORKFLOW_EXECUTION_TERMINATED';
    for (let afterEventId = 0; ; ) {
      const page = await this.history(run, { afterEventId, limit: 1_000 });
      if (page.events.some((event) => event.type === type)) return true;
      if (page.events.length < 1_000) return false;
      afterEventId = page.events.at(-1)!.id;
    }
  }
}

/** Whether it may be said by an engine whose disk fails, full or failing altogether. */
function isPassing(error: unknown): boolean {
  const { name } = error as Error;
  return name === 'StorageFullError' || name === 'EngineUnavailableError' || name === 'DataCorruptionError';
}

function isRef(answer: unknown): answer is RunRef {
  return typeof (answer as RunRef | undefined)?.runId === 'string';
}
