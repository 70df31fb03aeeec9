/** Signals, queries and updates: how a workflow names the messages it takes and answers them. */
import { DefinitionError } from './errors.js';
import { currentRuntime, type Handler, type HandlerOptions, type MessageKind } from './runtime.js';

interface Definition<Kind extends MessageKind> {
  readonly kind: Kind;
  readonly name: string;
}
/** `Args` and `Ret` exist for the type checker only. */
export interface SignalDefinition<Args extends unknown[] = []> extends Definition<'signal'> {
  readonly args?: Args;
}
export interface QueryDefinition<Ret, Args extends unknown[] = []> extends Definition<'query'> {
  readonly args?: Args;
  readonly ret?: Ret;
}
export interface UpdateDefinition<Ret, Args extends unknown[] = []> extends Definition<'update'> {
  readonly args?: Args;
  readonly ret?: Ret;
}

export function defineSignal<Args extends unknown[] = []>(name: string): SignalDefinition<Args> {
  return define('signal', name);
}

export function defineQuery<Ret, Args extends unknown[] = []>(name: string): QueryDefinition<Ret, Args> {
  return define('query', name);
}

export function defineUpdate<Ret, Args extends unknown[] = []>(name: string): UpdateDefinition<Ret, Args> {
  return define('update', name);
}

const MAX_MESSAGE_NAME = 200;

function define<Kind extends MessageKind>(kind: Kind, name: string): Definition<Kind> {
  if (typeof name !== 'string' || name === '' || name.length > MAX_MESSAGE_NAME) {
    throw new DefinitionError(
      `${JSON.stringify(name) ?? String(name)} is not a name for a ${kind}: use 1 to ${MAX_MESSAGE_NAME} characters`,
    );
  }
  return Object.freeze({ kind, name });
}

export interface SetHandlerOptions {
  description?: string;
}
export interface SetUpdateHandlerOptions<Args extends unknown[]> extends SetHandlerOptions {
  /** Throws to refuse the update before it happens. It must not be async, and can only read. */
  validator?: (...args: Args) => void;
}

/**
 * Answers messages from now on; `undefined` takes the handler away. Signals that came before are delivered at once, in
 * order. Signal and update handlers may be async, query handlers may not.
 */
export function setHandler<Args extends unknown[]>(
  definition: SignalDefinition<Args>,
  handler: ((...args: NoInfer<Args>) => unknown) | undefined,
  options?: SetHandlerOptions,
): void;
export function setHandler<Ret, Args extends unknown[]>(
  definition: QueryDefinition<Ret, Args>,
  handler: ((...args: NoInfer<Args>) => NoInfer<Ret>) | undefined,
  options?: SetHandlerOptions,
): void;
export function setHandler<Ret, Args extends unknown[]>(
  definition: UpdateDefinition<Ret, Args>,
  handler: ((...args: NoInfer<Args>) => NoInfer<Ret> | Promise<NoInfer<Ret>>) | undefined,
  options?: SetUpdateHandlerOptions<NoInfer<Args>>,
): void;
export function setHandler(
  definition: Definition<MessageKind>,
  handler: Handler | undefined,
  options: HandlerOptions = {},
): void {
  const runtime = currentRuntime('setHandler()');
  runtime.assertMayAct('setHandler()');
  const { kind, name } = definition ?? {};
  if (kind !== 'signal' && kind !== 'query' && kind !== 'update') {
    throw new DefinitionError(
      'setHandler() needs what defineSignal(), defineQuery() or defineUpdate() gives',
    );
  }
  for (const [what, fn] of [
    ['handler', handler],
    ['validator', options.validator],
  ] as const) {
    if (fn !== undefined && typeof fn !== 'function') {
      throw new DefinitionError(`the ${what} of ${kind} "${name}" is not a function`);
    }
  }
  if (options.validator && kind !== 'update') {
    throw new DefinitionError(`${kind} "${name}" has a validator: only updates can be refused`);
  }
  runtime.setHandler(kind, name, handler, options);
}

/** Whether no signal or update handler is under way: `await condition(allHandlersFinished)` before returning. */
export function allHandlersFinished(): boolean {
  return currentRuntime('allHandlersFinished()').allHandlersFinished();
}
