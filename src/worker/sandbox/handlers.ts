/**
 * The messages that a run takes: signals, queries, updates.
 *
 * 1. Signals are delivered in the order they came; those without a handler wait for one.
 * 2. An update without a handler waits for one until the turn ends and is refused then.
 * 3. Queries and validators only read: whatever would ask for something throws while they run.
 */
import { toFailure } from '../../core/failure.js';
import { decodePayload, encodePayload, type Payload } from '../../core/json.js';
import type { QueryAnswer, QueryRequest, UpdateRequest } from '../../core/task.js';
import type { Handler, HandlerOptions, MessageKind } from '../../sdk/runtime.js';
import { isPromise } from '../../sdk/schema.js';
import type { TurnCommands } from './commands.js';

/** What the handlers need of the run they belong to. */
export interface HandlerHost {
  readonly identity: { readonly workflowType: string };
  readonly commands: TurnCommands;
  /** Any error out of user code that has no caller fails the run. */
  fail(error: unknown): void;
  /** Runs `fn`; what asks for something meanwhile throws "… cannot be used in" and `place`. */
  readOnly<T>(place: string, fn: () => T): T;
}

export interface Update extends UpdateRequest {
  /** It was accepted when the turn ran first, so its validator is not asked again. */
  accepted: boolean;
}

/** The query that every run answers: which handlers it has right now, in the form the field knows. */
const METADATA_QUERY = '__workflow_metadata';

interface RegisteredHandler {
  description: string | undefined;
  call: (...args: unknown[]) => unknown;
  validator: ((...args: unknown[]) => unknown) | undefined;
}

export class Handlers {
  readonly #host: HandlerHost;
  readonly #registered: Record<MessageKind, Map<string, RegisteredHandler>> = {
    signal: new Map(),
    query: new Map(),
    update: new Map(),
  };
  #waitingSignals: { name: string; input: Payload[] }[] = [];
  #waitingUpdates: Update[] = [];
  #running = 0;

  constructor(host: HandlerHost) {
    this.#host = host;
  }

  get running(): number {
    return this.#running;
  }

  set(kind: MessageKind, name: string, handler: Handler | undefined, options: HandlerOptions): void {
    const registered = this.#registered[kind];
    if (!handler) {
      registered.delete(name);
      return;
    }
    registered.set(name, {
      description: options.description,
      call: handler as RegisteredHandler['call'],
      validator: options.validator as RegisteredHandler['validator'],
    });
    if (kind === 'signal') this.#deliverWaitingSignals();
    else if (kind === 'update') this.#deliverWaitingUpdates(name);
  }

  signal(name: string, input: Payload[]): void {
    const handler = this.#registered.signal.get(name);
    if (!handler) {
      this.#waitingSignals.push({ name, input });
      return;
    }
    const failed = (error: unknown) => {
      this.#running--;
      this.#host.fail(error);
    };
    this.#running++;
    try {
      const returned = handler.call(...decodeAll(input));
      if (isPromise(returned)) returned.then(() => this.#running--, failed);
      else this.#running--;
    } catch (error) {
      failed(error);
    }
  }

  update(update: Update): void {
    const handler = this.#registered.update.get(update.name);
    if (!handler) {
      this.#waitingUpdates.push(update);
      return;
    }
    const { updateId } = update;
    const { commands } = this.#host;
    if (handler.validator && !update.accepted) {
      const refusal = this.#refusal(handler.validator, update);
      if (refusal) {
        commands.add({
          kind: 'rejectUpdate',
          updateId,
          reason: 'validator',
          failure: toFailure(refusal.error),
        });
        return;
      }
    }
    commands.add({ kind: 'acceptUpdate', updateId });
    const failed = (error: unknown) => {
      this.#running--;
      commands.add({ kind: 'completeUpdate', updateId, failure: toFailure(error) });
    };
    const done = (value: unknown) => {
      let result: Payload | undefined;
      try {
        result = encodePayload(value, `result of update "${update.name}"`);
      } catch (error) {
        failed(error);
        return;
      }
      this.#running--;
      commands.add({ kind: 'completeUpdate', updateId, result });
    };
    this.#running++;
    try {
      const returned = handler.call(...decodeAll(update.input));
      if (isPromise(returned)) returned.then(done, failed);
      else done(returned);
    } catch (error) {
      failed(error);
    }
  }

  /** The turn ends: updates that found no handler in it are refused. */
  refuseWaitingUpdates(): void {
    for (const { updateId, name } of this.#waitingUpdates) {
      const known = [...this.#registered.update.keys()];
      const message = `no handler for update "${name}"; there ${known.length === 0 ? 'are none' : `is ${known.join(', ')}`}`;
      this.#host.commands.add({
        kind: 'rejectUpdate',
        updateId,
        reason: 'noHandler',
        failure: { kind: 'application', type: 'HandlerNotFoundError', message },
      });
    }
    this.#waitingUpdates = [];
  }

  query(request: QueryRequest): QueryAnswer {
    const { queryId, name } = request;
    const handler = this.#registered.query.get(name);
    if (!handler && name === METADATA_QUERY) {
      return { queryId, kind: 'answered', result: JSON.stringify(this.#metadata()) };
    }
    if (!handler) return { queryId, kind: 'noHandler', known: [...this.#registered.query.keys()] };
    try {
      const value = this.#host.readOnly(`query "${name}"${ONLY_READS}`, () =>
        handler.call(...decodeAll(request.input)),
      );
      if (isPromise(value)) {
        value.then(undefined, () => {});
        throw new Error(`the handler of query "${name}" is async: a query must answer at once`);
      }
      const result = encodePayload(value, `result of query "${name}"`);
      return { queryId, kind: 'answered', ...(result !== undefined && { result }) };
    } catch (error) {
      return { queryId, kind: 'failed', failure: toFailure(error) };
    }
  }

  #metadata(): object {
    const list = (kind: MessageKind) =>
      [...this.#registered[kind]].map(([name, { description }]) => ({ name, description }));
    const type = this.#host.identity.workflowType;
    return {
      definition: {
        type,
        queryDefinitions: list('query'),
        signalDefinitions: list('signal'),
        updateDefinitions: list('update'),
      },
    };
  }

  /** What the validator has against the update. */
  #refusal(validator: (...args: unknown[]) => unknown, update: Update): { error: unknown } | undefined {
    try {
      // Arguments of its own: what it does to them does not reach the handler.
      const returned = this.#host.readOnly(`the validator of update "${update.name}"${ONLY_READS}`, () =>
        validator(...decodeAll(update.input)),
      );
      if (!isPromise(returned)) return undefined;
      returned.then(undefined, () => {});
      throw new Error(`the validator of update "${update.name}" is async: it must answer at once`);
    } catch (error) {
      return { error };
    }
  }

  #deliverWaitingSignals(): void {
    if (this.#waitingSignals.length === 0) return;
    const waiting = this.#waitingSignals;
    this.#waitingSignals = [];
    // A handler may set others meanwhile, so each signal looks for its handler again, in order.
    for (const { name, input } of waiting) this.signal(name, input);
  }

  #deliverWaitingUpdates(name: string): void {
    if (this.#waitingUpdates.length === 0) return;
    const ready = this.#waitingUpdates.filter((update) => update.name === name);
    this.#waitingUpdates = this.#waitingUpdates.filter((update) => update.name !== name);
    for (const update of ready) this.update(update);
  }
}

const ONLY_READS = ", which can only read the workflow's state";

const decodeAll = (input: Payload[]): unknown[] => input.map(decodePayload);
