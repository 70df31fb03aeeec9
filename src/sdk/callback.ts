/**
 * Callbacks: addresses that a workflow gives to outsiders, and what they post there.
 *
 * 1. What is posted for a callback reaches that one and no other, in whatever order things come.
 * 2. The first that fits counts; what comes later changes nothing. What does not fit is logged and left out, and the
 *    callback goes on waiting: an outsider cannot end a run.
 * 3. Making one asks nothing of the engine and draws none of the run's random numbers: ids come from a sequence of their
 *    own. So a run from before there were callbacks replays as it ran.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { toFailure } from '../core/history/failure.js';
import { CALLBACK_SIGNAL, isCallbackId } from '../core/run/callback.js';
import { UsageError } from './errors.js';
import { defineSignal, setHandler } from './messages.js';
import { checkOptions } from './options.js';
import { type Cancel, currentRuntime, type Settle, type WorkflowRuntime } from './runtime.js';
import { isPromise, isSchema, type OutputOf, parse, type Schema } from './schema.js';
import { inCurrentScope } from './scope.js';

export interface Callback<T = unknown> {
  readonly id: string;
  /** For an outsider, by way of a step: whoever has it can answer, with POST and a JSON body, and do nothing else. */
  readonly url: string;
  /** What is posted there; undefined for an empty body. Each use waits in the scope it is in. */
  readonly result: Promise<T>;
}

export interface CallbackOptions<S = Schema> {
  /** Parses what is posted. What does not fit is left out, and the callback goes on waiting. */
  schema?: S;
  /**
   * Your own id, unique in the run. The address follows from the workflow's id and this one, so a run that continues as
   * new and makes it again goes on waiting for the same outsider.
   */
  id?: string;
}

/** Makes an address for an outsider and waits, once `result` is awaited, for what is posted there. */
export function createCallback<S extends Schema>(
  options: CallbackOptions<S> & { schema: S },
): Callback<OutputOf<S>>;
export function createCallback<T = unknown>(
  options?: CallbackOptions<StandardSchemaV1<unknown, T>>,
): Callback<T>;
export function createCallback(options: CallbackOptions = {}): Callback {
  checkCallbackOptions(options);
  const runtime = currentRuntime('createCallback()');
  const callback = callbacksOf(runtime, 'createCallback()').make(options.schema, options.id);
  const { id, url } = callback;
  // Not enumerable, so that the callback as a whole can be given to a step: what is told of it is `{ id, url }`.
  const result = { get: () => callback.wait() };
  return Object.freeze(Object.defineProperty({ id, url }, 'result', result) as Callback);
}

function checkCallbackOptions(options: CallbackOptions): void {
  checkOptions('createCallback()', options, ['schema', 'id']);
  if (options.schema !== undefined && !isSchema(options.schema)) {
    throw new UsageError(
      'schema of createCallback() is not a schema: pass a zod schema or another Standard Schema',
    );
  }
  if (options.id !== undefined && !isCallbackId(options.id)) {
    throw new UsageError(
      `${JSON.stringify(options.id) ?? String(options.id)} is not an id for a callback: use 1 to 100 letters, digits and any of _ . : -`,
    );
  }
}

/** One callback that a run has made. */
export class OpenCallback {
  readonly id: string;
  readonly url: string;
  readonly #schema: Schema | undefined;
  readonly #runtime: WorkflowRuntime;
  readonly #waiting = new Set<Settle<unknown>>();
  #answer: { value: unknown } | undefined;

  constructor(ownId: string | undefined, schema: Schema | undefined, runtime: WorkflowRuntime) {
    this.id = ownId ?? runtime.newCallbackId();
    this.url = runtime.callbackUrl(this.id, {
      isChecked: schema !== undefined,
      isOwnId: ownId !== undefined,
    });
    this.#schema = schema;
    this.#runtime = runtime;
  }

  get isAnswered(): boolean {
    return this.#answer !== undefined;
  }

  /** Something was posted for it. */
  offer(payload: unknown): void {
    if (this.isAnswered) return;
    try {
      const parsed = parse(this.#schema, payload, `what was posted for callback ${this.id}`);
      if (!isPromise(parsed)) this.answer(parsed);
      else
        parsed.then(
          (value) => this.answer(value),
          (error: unknown) => this.#leaveOut(error),
        );
    } catch (error) {
      this.#leaveOut(error);
    }
  }

  /** The first answer counts. */
  answer(value: unknown): void {
    if (this.isAnswered) return;
    this.#answer = { value };
    for (const settle of this.#waiting) settle.resolve(value);
    this.#waiting.clear();
  }

  /** `onEnd` is called when the wait is over by a cancellation. */
  wait(onEnd?: () => void): Promise<unknown> {
    return inCurrentScope<unknown>('waiting for a callback', (settle): Cancel => {
      if (this.#answer) {
        settle.resolve(this.#answer.value);
        return () => {};
      }
      this.#waiting.add(settle);
      return (cancellation) => {
        if (!this.#waiting.delete(settle)) return;
        onEnd?.();
        settle.reject(cancellation);
      };
    });
  }

  #leaveOut(error: unknown): void {
    // A schema may throw anything, also what cannot be asked what it is.
    const { message, properties } = toFailure(error);
    const issues = properties?.issues;
    this.#runtime.log('warn', `${message}; it is left out, and the callback goes on waiting`, {
      callbackId: this.id,
      ...(issues !== undefined && { issues }),
    });
  }
}

/** The callbacks of one run. */
class Callbacks {
  readonly #made = new Map<string, OpenCallback>();
  /** Posted for callbacks that this run has not made: the run before it may have, under an id of the author's. */
  readonly #early = new Map<string, unknown[]>();

  constructor(private readonly runtime: WorkflowRuntime) {}

  make(schema?: Schema, ownId?: string): OpenCallback {
    if (ownId !== undefined && this.#made.has(ownId)) {
      throw new UsageError(`this run has made a callback with the id "${ownId}" already`);
    }
    const callback = new OpenCallback(ownId, schema, this.runtime);
    const { id } = callback;
    this.#made.set(id, callback);
    const early = this.#early.get(id) ?? [];
    this.#early.delete(id);
    for (const payload of early) callback.offer(payload);
    return callback;
  }

  receive(callbackId: unknown, payload: unknown): void {
    // Anybody with the API's token can send the signal, with anything in it.
    if (typeof callbackId !== 'string') return;
    const callback = this.#made.get(callbackId);
    if (callback) callback.offer(payload);
    else this.#early.set(callbackId, [...(this.#early.get(callbackId) ?? []), payload]);
  }
}

const posted = defineSignal<[unknown, unknown]>(CALLBACK_SIGNAL);
const perRun = new WeakMap<WorkflowRuntime, Callbacks>();

/** The runtime keeps signals without a handler, so those from before the first use arrive as well. */
function callbacksOf(runtime: WorkflowRuntime, what: string): Callbacks {
  runtime.assertMayAct(what);
  let callbacks = perRun.get(runtime);
  if (!callbacks) {
    const made = new Callbacks(runtime);
    perRun.set(runtime, made);
    setHandler(posted, (callbackId, payload) => made.receive(callbackId, payload));
    callbacks = made;
  }
  return callbacks;
}

/** A callback of the SDK's own, with nothing to check. */
export function openCallback(what: string): OpenCallback {
  return callbacksOf(currentRuntime(what), what).make();
}
