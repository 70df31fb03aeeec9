/** Queries and updates: callers that wait for an answer which only a worker can give. */
import { PerdureError } from '../core/errors.js';
import type { Payload } from '../core/json.js';
import type { ActiveRun, AdmittedUpdate, UpdateOutcome } from './active-run.js';
import type { Machine } from './machine.js';

export class Messages {
  #lastId = 0;
  #isStopped = false;
  readonly #giveUps = new Set<() => void>();

  constructor(private readonly machine: Machine) {}

  query(run: ActiveRun, name: string, input: Payload[]): Promise<Payload | undefined> {
    const { workflowId, runId } = run.state;
    return new Promise((resolve, reject) => {
      const queryId = ++this.#lastId;
      const query = {
        queryId,
        name,
        input,
        resolve: (answer: Parameters<ActiveRun['queries'][number]['resolve']>[0]) => {
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
        refuse: (error: PerdureError) => {
          done();
          reject(new PerdureError(error.name, error.message, { workflowId, runId }));
        },
      };
      const done = this.#giveUpLater((error) => {
        run.queries = run.queries.filter((each) => each !== query);
        reject(error);
      }, run);
      this.machine.queries.ask(run, query);
    });
  }

  update(run: ActiveRun, name: string, input: Payload[]): Promise<Payload | undefined> {
    const { limits } = this.machine;
    const { workflowId, runId, updateCount } = run.state;
    if (run.heldBack) {
      const message = `the run is held back and takes no updates: ${run.heldBack.reason}`;
      throw new PerdureError('EngineUnavailableError', message, { workflowId, runId, retryAfterSeconds: 10 });
    }
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
        request: { updateId: `${runId}-${++this.#lastId}`, name, input },
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
      const done = this.#giveUpLater((error) => {
        const waiting = run.admitted.indexOf(update);
        // An update that a worker has, or that was accepted, will be answered when it is done.
        if (waiting === -1 && !this.#isStopped) return;
        run.admitted.splice(waiting, waiting === -1 ? 0 : 1);
        reject(error);
      }, run);
      run.admitted.push(update);
      this.machine.lifecycle.queueTurn(run);
    });
  }

  /** Every caller who still waits is told that the server stops. */
  stop(): void {
    this.#isStopped = true;
    for (const giveUp of [...this.#giveUps]) giveUp();
  }

  #giveUpLater(giveUp: (error: PerdureError) => void, run: ActiveRun): () => void {
    const { workflowId, runId, started } = run.state;
    const end = () => {
      const message = this.#isStopped
        ? 'the server is shutting down'
        : `no worker of catalog "${started.catalog}" has answered within ${this.machine.limits.messageTimeoutMs} ms`;
      giveUp(
        new PerdureError('EngineUnavailableError', message, { workflowId, runId, retryAfterSeconds: 1 }),
      );
    };
    const timer = setTimeout(end, this.machine.limits.messageTimeoutMs);
    this.#giveUps.add(end);
    return () => {
      clearTimeout(timer);
      this.#giveUps.delete(end);
    };
  }
}
