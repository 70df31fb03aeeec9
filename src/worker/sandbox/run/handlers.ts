/**
 * The messages that a run takes: signals, queries, updates.
 *
 * 1. Signals are delivered in the order they came; those without a handler wait for one.
 * 2. An update without a handler waits for one until the turn ends and is refused then.
 * 3. Queries and validators only read: whatever would ask for something throws while they run. What they assign cannot
 *    be seen, so a run is tainted by those whose text does not tell that they only read.
 * 4. Payloads of declared messages are parsed. What does not fit is refused where somebody can be told; a signal has no
 *    one, so it is left out with a word in the log, and does not end the run.
 * 5. Runs from before they were parsed replay with what their handlers got then: the first payload of a run of which
 *    parsing makes something else is marked in the history.
 * 6. A signal handler whose waiting ends because the run is stopped has ended, and the run has not: what cleans up goes on.
 *    Runs from before this held were closed by it and replay so: the first such end is marked in the history.
 */
import type { Failure } from '../../../core/history/failure.js';
import { RUN_PAUSED } from '../../../core/run/pause.js';
import type { QueryAnswer, QueryRequest, UpdateRequest } from '../../../core/task.js';
import { encodePayload, type Payload } from '../../../core/values/json.js';
import { cut } from '../../../core/values/text.js';
import type { HandlerDeclaration } from '../../../sdk/definition.js';
import { UsageError, ValidationError } from '../../../sdk/errors.js';
import type { Handler, HandlerOptions, LogLevel, MessageKind } from '../../../sdk/runtime.js';
import { isPromise } from '../../../sdk/schema.js';
import type { TurnCommands } from './commands.js';
import { remediedFailure } from './failures.js';
import { decodeAll } from './message-arguments.js';
import { MessageSchemas } from './message-schemas.js';
import { readsOnly } from './reads-only.js';
import type { Validators } from './validators.js';

/** What the handlers need of the run they belong to. */
export interface HandlerHost {
  readonly identity: { readonly workflowType: string };
  readonly commands: TurnCommands;
  /** Any error out of user code that has no caller fails the run. */
  fail(error: unknown): void;
  /** Whether the run was asked to stop, and `error` is how what it waited for ends then. */
  isStop(error: unknown): boolean;
  /**
   * Runs `fn`, which is not run again at a replay: what asks for something meanwhile throws "… cannot be used in" and
   * `place`, and its random numbers are others than those of the run.
   */
  aside<T>(place: string, fn: () => T): T;
  readonly validators: Validators | undefined;
  /** The state may be another than a replay would make. */
  taint(): void;
  /** What the workflow declares of the message. */
  declared(kind: MessageKind, name: string): HandlerDeclaration | undefined;
  patched(patchId: string, deprecated: boolean): boolean;
  log(level: LogLevel, message: string, fields: object): void;
}

/** See 5. */
const PARSED = 'perdure.parsedMessages';

/** See 6. */
const OUTLIVES_HANDLERS = 'perdure.stoppedHandlers';

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
  schemas: MessageSchemas;
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
      schemas: new MessageSchemas(kind, name, options, this.#host.declared(kind, name)),
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
    const args = this.#signalArguments(handler, name, input);
    if (!args) return;
    const failed = (error: unknown) => {
      this.#running--;
      const isLeft = this.#host.isStop(error) && this.#host.patched(OUTLIVES_HANDLERS, false);
      if (!isLeft) this.#host.fail(error);
    };
    this.#running++;
    try {
      const returned = handler.call(...args);
      if (isPromise(returned)) Promise.resolve(returned).then(() => this.#running--, failed);
      else this.#running--;
    } catch (error) {
      failed(error);
    }
  }

  /** Undefined when it is left out. */
  #signalArguments({ schemas }: RegisteredHandler, name: string, input: Payload[]): unknown[] | undefined {
    const read = schemas.read(input);
    if (!read.refusal && !read.isChanged) return read.args;
    if (!this.#host.patched(PARSED, false)) return decodeAll(input);
    if (!read.refusal) return read.args;
    const { refusal } = read;
    // A schema that can read nothing is the author's to mend. One that throws does so at what a sender chose: nobody
    // ends a run by what he sends.
    if (refusal instanceof UsageError) this.#host.fail(refusal);
    else {
      const isInvalid = refusal instanceof ValidationError;
      const why = isInvalid ? refusal.message : `the schema of signal "${name}" threw: ${refusal.message}`;
      this.#host.log('warn', `${why}; the signal is left out`, { signal: name });
    }
    return undefined;
  }

  /** Of an update that was accepted, so that what it carries is not judged any more. */
  #updateArguments({ schemas }: RegisteredHandler, { input }: Update): unknown[] {
    const read = schemas.read(input);
    if (read.refusal || (read.isChanged && !this.#host.patched(PARSED, false))) return decodeAll(input);
    return read.args;
  }

  /** Whether it reached its handler. */
  update(update: Update): boolean {
    const { updateId } = update;
    const { commands } = this.#host;
    // Nothing can be accepted after the end: the engine tells its caller that the run is closed.
    if (commands.closed) return false;
    const handler = this.#registered.update.get(update.name);
    if (!handler) {
      this.#waitingUpdates.push(update);
      return false;
    }
    if (!update.accepted) {
      const refusal = this.#refusal(handler, update);
      if (refusal) {
        if (!handler.validator || !readsOnly(handler.validator)) this.#host.taint();
        commands.add({
          kind: 'rejectUpdate',
          updateId,
          reason: 'validator',
          failure: remediedFailure(refusal.error),
        });
        return false;
      }
    }
    commands.add({ kind: 'acceptUpdate', updateId });
    const failed = (error: unknown) => {
      this.#running--;
      commands.add({ kind: 'completeUpdate', updateId, failure: remediedFailure(error) });
    };
    const done = (value: unknown) => {
      let result: Payload | undefined;
      try {
        result = encodePayload(handler.schemas.parseResult(value), `result of update "${update.name}"`);
      } catch (error) {
        failed(error);
        return;
      }
      this.#running--;
      commands.add({ kind: 'completeUpdate', updateId, result });
    };
    this.#running++;
    try {
      const returned = handler.call(...this.#updateArguments(handler, update));
      // A promise of another make may settle more than once.
      if (isPromise(returned)) Promise.resolve(returned).then(done, failed);
      else done(returned);
    } catch (error) {
      failed(error);
    }
    return true;
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

  /** Nobody can take them, and not every engine can keep them: whoever has sent them sends them again after the pause. */
  refuseWhilePaused(updates: readonly Update[]): void {
    for (const { updateId } of updates) {
      const failure: Failure = { kind: 'application', type: RUN_PAUSED, message: 'the run is paused' };
      this.#host.commands.add({ kind: 'rejectUpdate', updateId, reason: 'paused', failure });
    }
  }

  query(request: QueryRequest): QueryAnswer {
    const { queryId, name } = request;
    const handler = this.#registered.query.get(name);
    if (!handler && name === METADATA_QUERY) {
      return { queryId, kind: 'answered', result: JSON.stringify(this.#metadata()) };
    }
    if (!handler) return { queryId, kind: 'noHandler', known: [...this.#registered.query.keys()] };
    if (!readsOnly(handler.call)) this.#host.taint();
    try {
      const value = this.#host.aside(`query "${name}"${ONLY_READS}`, () => {
        const read = handler.schemas.read(request.input);
        if (read.refusal) throw read.refusal;
        const answer = handler.call(...read.args);
        return isPromise(answer) ? answer : handler.schemas.parseResult(answer);
      });
      if (isPromise(value)) {
        value.then(undefined, () => {});
        throw new Error(`the handler of query "${name}" is async: a query must answer at once`);
      }
      const result = encodePayload(value, `result of query "${name}"`);
      return { queryId, kind: 'answered', ...(result !== undefined && { result }) };
    } catch (error) {
      return { queryId, kind: 'failed', failure: ofQuery(remediedFailure(error)) };
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

  /** What the schema of the update, or its validator, has against it. */
  #refusal({ validator, schemas }: RegisteredHandler, update: Update): { error: unknown } | undefined {
    const { validators } = this.#host;
    const { name, updateId } = update;
    const judge = () => {
      // Arguments of its own: what it does to them does not reach the handler.
      const read = schemas.read(update.input);
      if (read.refusal) throw read.refusal;
      return validator?.(...read.args);
    };
    try {
      if (validators?.isEndless(updateId)) throw new Error(`the validator of update "${name}" does not end`);
      const returned = this.#host.aside(`the validator of update "${name}"${ONLY_READS}`, () =>
        validators ? validators.ask(updateId, judge) : judge(),
      );
      if (!isPromise(returned)) return undefined;
      returned.then(undefined, () => {});
      throw new Error(`the validator of update "${name}" is async: it must answer at once`);
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

/** A cluster sends it among the headers of its answer, which may take 8 KiB in all and are encoded at length. */
const MAX_QUERY_MESSAGE = 500;

/** Only what its caller sees: nothing of it is recorded. */
function ofQuery({ kind, type, message }: Failure): Failure {
  return { kind, type, message: cut(message, MAX_QUERY_MESSAGE) };
}

const ONLY_READS = ", which can only read the workflow's state";
