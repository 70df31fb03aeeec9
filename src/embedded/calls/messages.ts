/** Queries and updates: callers that wait for an answer which only a worker can give. */
import { PerdureError } from '../../core/errors.js';
import { waitsForItsRetry } from '../../core/run/retry.js';
import type { TraceContext } from '../../core/trace-context.js';
import type { Payload } from '../../core/values/json.js';
import { TurnoverSet } from '../../core/values/turnover.js';
import type { Queries } from '../delivery/queries.js';
import type { Kernel } from '../kernel.js';
import type { Lifecycle } from '../life/lifecycle.js';
import { firstTurnDueAt } from '../state/run-state.js';
import type {
  ActiveRun,
  AdmittedUpdate,
  HeldBack,
  UpdateOutcome,
  WaitingQuery,
} from '../store/active-run.js';

export class Messages {
  #lastQueryId = 0;
  #isStopped = false;
  readonly #giveUps = new TurnoverSet<() => void>();

  constructor(
    private readonly kernel: Kernel,
    private readonly lifecycle: Lifecycle,
    private readonly queries: Queries,
  ) {}

  query(
    run: ActiveRun,
    name: string,
    input: Payload[],
    withinMs = this.kernel.limits.messageTimeoutMs,
  ): Promise<Payload | undefined> {
    const { workflowId, runId } = run.state;
    return new Promise((resolve, reject) => {
      const queryId = ++this.#lastQueryId;
      const query: WaitingQuery = {
        queryId,
        name,
        input,
        resolve: (answer) => {
          done();
          switch (answer.kind) {
            case 'answered':
              resolve(answer.result);
              return;
            case 'failed':
              reject(new PerdureError('QueryFailedError', answer.failure.message, { workflowId, runId }));
              return;
            case 'noHandler':
              reject(
                new PerdureError(
                  'HandlerNotFoundError',
                  `no handler for query "${name}"; there ${answer.known.length === 0 ? 'are none' : `is ${answer.known.join(', ')}`}`,
                  { workflowId, runId },
                ),
              );
          }
        },
        refuse: (error) => {
          done();
          reject(new PerdureError(error.name, error.message, { ...error.details, workflowId, runId }));
        },
      };
      const done = this.#giveUpLater(run, { withinMs, isUpdate: false }, (error) => {
        query.isGivenUp = true;
        run.queries = run.queries.filter((each) => each !== query);
        reject(error);
      });
      this.queries.ask(run, query);
    });
  }

  update(
    run: ActiveRun,
    name: string,
    input: Payload[],
    traceContext?: TraceContext,
  ): Promise<Payload | undefined> {
    const { limits } = this.kernel;
    const { workflowId, runId, updateCount } = run.state;
    if (run.heldBack) throw this.#isHeldBack(run, run.heldBack);
    const waiting = run.admitted.length + (run.turn?.updates.length ?? 0);
    const inFlight = waiting + run.state.openUpdates.size;
    if (inFlight >= limits.updatesInFlightPerRun || updateCount + waiting >= limits.updatesPerRun) {
      throw new PerdureError(
        'TooManyRequestsError',
        `the run has ${inFlight} updates under way and has taken ${updateCount}; the limits are ${limits.updatesInFlightPerRun} and ${limits.updatesPerRun}`,
        { workflowId, runId, retryAfterSeconds: 1 },
      );
    }
    return new Promise((resolve, reject) => {
      const update: AdmittedUpdate = {
        request: { updateId: this.kernel.ids.newUpdateId(), name, input },
        waitsIn: run,
        resolve: (outcome: UpdateOutcome) => {
          done();
          switch (outcome.kind) {
            case 'completed':
              resolve(outcome.result);
              return;
            case 'failed':
              reject(new PerdureError('UpdateFailedError', outcome.failure.message, { workflowId, runId }));
              return;
            case 'refused':
              reject(outcome.error);
          }
        },
      };
      const withinMs = limits.messageTimeoutMs;
      const done = this.#giveUpLater(run, { withinMs, isUpdate: true }, (error) => {
        // One that a worker has is answered by it, or told so when it comes back; one that was accepted when it is done.
        update.overdue = error;
        const { waitsIn } = update;
        if (waitsIn) waitsIn.admitted = waitsIn.admitted.filter((each) => each !== update);
        if (waitsIn || this.#isStopped) reject(error);
      });
      if (traceContext) update.request.traceContext = traceContext;
      run.admitted.push(update);
      this.lifecycle.goOn(run);
    });
  }

  /** Every caller who still waits is told that the server stops. */
  stop(): void {
    this.#isStopped = true;
    for (const giveUp of [...this.#giveUps]) giveUp();
  }

  #isHeldBack({ state: { workflowId, runId } }: ActiveRun, { reason }: HeldBack): PerdureError {
    const message = `the run is held back and takes no updates: ${reason}`;
    return new PerdureError('EngineUnavailableError', message, { workflowId, runId, retryAfterSeconds: 10 });
  }

  /** What the caller is told whose time is over. */
  #unanswered(run: ActiveRun, withinMs: number, isUpdate: boolean): PerdureError {
    const { workflowId, runId, started, paused } = run.state;
    if (isUpdate && run.heldBack && !this.#isStopped) return this.#isHeldBack(run, run.heldBack);
    const firstTurnAt = firstTurnDueAt(run.state);
    let message = `no worker of catalog "${started.catalog}" has answered within ${withinMs} ms`;
    if (this.#isStopped) message = 'the server is shutting down';
    else if (isUpdate && paused) {
      message = `the run is paused (${paused.reason}) and takes updates once it is resumed`;
    } else if (firstTurnAt !== undefined) {
      message = waitsForItsRetry(firstTurnAt);
    }
    return new PerdureError('EngineUnavailableError', message, { workflowId, runId, retryAfterSeconds: 1 });
  }

  #giveUpLater(
    run: ActiveRun,
    { withinMs, isUpdate }: { withinMs: number; isUpdate: boolean },
    giveUp: (error: PerdureError) => void,
  ): () => void {
    const end = () => giveUp(this.#unanswered(run, withinMs, isUpdate));
    const timer = this.kernel.scheduler.after(withinMs, end);
    this.#giveUps.add(end);
    return () => {
      timer.cancel();
      this.#giveUps.delete(end);
    };
  }
}
