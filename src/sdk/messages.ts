/** Signals, queries and updates: how a workflow names the messages it takes and answers them. */

import { nearestName } from '../core/values/nearest.js';
import {
  checkDescription,
  checkMessageName,
  checkSchemas,
  type HandlerDeclaration,
  type HandlerDeclarations,
  workflowDefinition,
} from './definition.js';
import { DefinitionError } from './errors.js';
import type { Later, Result, Unchanging } from './inference.js';
import { checkOptions } from './options.js';
import { currentRuntime, type Handler, type HandlerOptions, type MessageKind } from './runtime.js';
import type { InputOf, OutputOf, Schema } from './schema.js';
import type { DeclaredMessages, Workflow } from './workflow.js';

/**
 * What `defineSignal` and its like give. With schemas it is also a declaration: `workflow({ signals: { approve } })`. The
 * payload is parsed by its schema where the handler runs, and what the handler answers by that of the output.
 */
interface Definition<Kind extends MessageKind> {
  readonly kind: Kind;
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: Schema;
  readonly outputSchema?: Schema;
}
/** `Args`, `Ret` and `Sent` exist for the type checker only; what is sent differs from what arrives by defaults and transforms. */
export interface SignalDefinition<Args extends unknown[] = [], Sent extends unknown[] = Args>
  extends Definition<'signal'> {
  readonly args?: Args;
  readonly sent?: Sent;
}
export interface QueryDefinition<Ret, Args extends unknown[] = []> extends Definition<'query'> {
  readonly args?: Args;
  readonly ret?: Ret;
}
export interface UpdateDefinition<Ret, Args extends unknown[] = []> extends Definition<'update'> {
  readonly args?: Args;
  readonly ret?: Ret;
}

type Received<D> = D extends { inputSchema: infer S extends Schema } ? [payload: OutputOf<S>] : unknown[];
type SentTo<D> = D extends { inputSchema: infer S extends Schema } ? [payload: InputOf<S>] : unknown[];
type Answered<D> = D extends { outputSchema: infer S extends Schema } ? InputOf<S> : unknown;
/** Of a definition without a schema for it: no payload. */
type OwnReceived<D> = D extends { inputSchema: Schema } ? Received<D> : [];
type OwnSent<D> = D extends { inputSchema: Schema } ? SentTo<D> : [];

type Declaring<Kind extends keyof DeclaredMessages, Declared extends DeclaredMessages[Kind]> = Workflow<
  never,
  unknown,
  DeclaredMessages & Record<Kind, Declared>
>;

/**
 * A signal by its name and the types of its arguments, by its name and schema (`{ inputSchema }`), or as a workflow has
 * declared it.
 */
export function defineSignal<Args extends unknown[] = []>(name: string): SignalDefinition<Args>;
export function defineSignal<const D extends HandlerDeclaration>(
  name: string,
  declaration: D,
): SignalDefinition<OwnReceived<D>, OwnSent<D>> & D;
export function defineSignal<
  Declared extends DeclaredMessages['signals'],
  Name extends keyof Declared & string,
>(
  workflow: Declaring<'signals', Declared>,
  name: Name,
): SignalDefinition<Received<Declared[Name]>, SentTo<Declared[Name]>>;
export function defineSignal(...args: DefineArguments): Definition<'signal'> {
  return define('signal', ...args);
}

/** A query by its name and types, by its name and schemas, or as a workflow has declared it. */
export function defineQuery<Ret, Args extends unknown[] = []>(name: string): QueryDefinition<Ret, Args>;
export function defineQuery<const D extends HandlerDeclaration>(
  name: string,
  declaration: D,
): QueryDefinition<Answered<D>, OwnReceived<D>> & D;
export function defineQuery<
  Declared extends DeclaredMessages['queries'],
  Name extends keyof Declared & string,
>(
  workflow: Declaring<'queries', Declared>,
  name: Name,
): QueryDefinition<Answered<Declared[Name]>, Received<Declared[Name]>>;
export function defineQuery(...args: DefineArguments): Definition<'query'> {
  return define('query', ...args);
}

/** An update by its name and types, by its name and schemas, or as a workflow has declared it. */
export function defineUpdate<Ret, Args extends unknown[] = []>(name: string): UpdateDefinition<Ret, Args>;
export function defineUpdate<const D extends HandlerDeclaration>(
  name: string,
  declaration: D,
): UpdateDefinition<Answered<D>, OwnReceived<D>> & D;
export function defineUpdate<
  Declared extends DeclaredMessages['updates'],
  Name extends keyof Declared & string,
>(
  workflow: Declaring<'updates', Declared>,
  name: Name,
): UpdateDefinition<Answered<Declared[Name]>, Received<Declared[Name]>>;
export function defineUpdate(...args: DefineArguments): Definition<'update'> {
  return define('update', ...args);
}

type DefineArguments = [nameOrWorkflow: unknown, declarationOrName?: unknown];

const PLURAL = { signal: 'signals', query: 'queries', update: 'updates' } as const;

function define<Kind extends MessageKind>(kind: Kind, first: unknown, second: unknown): Definition<Kind> {
  if (workflowDefinition(first)) return declaredBy(kind, first, second);
  checkMessageName(kind, first);
  if (second === undefined) return Object.freeze({ kind, name: first });
  const what = `${kind} "${first}"`;
  const known =
    kind === 'signal' ? ['description', 'inputSchema'] : ['description', 'inputSchema', 'outputSchema'];
  checkOptions(`the definition of ${what}`, second, known);
  const { description, inputSchema, outputSchema } = second as HandlerDeclaration;
  checkDescription(what, description);
  checkSchemas(what, { inputSchema, outputSchema });
  return Object.freeze({
    kind,
    name: first,
    ...(description !== undefined && { description }),
    ...(inputSchema && { inputSchema }),
    ...(outputSchema && { outputSchema }),
  });
}

function declaredBy<Kind extends MessageKind>(
  kind: Kind,
  workflow: unknown,
  name: unknown,
): Definition<Kind> {
  const definition = workflowDefinition(workflow)!;
  checkMessageName(kind, name);
  const declared: HandlerDeclarations = definition[PLURAL[kind]] ?? {};
  if (!Object.hasOwn(declared, name)) {
    const nearest = nearestName(name, Object.keys(declared));
    throw new DefinitionError(
      `workflow "${definition.name}" declares no ${kind} "${name}"${nearest === undefined ? '' : `: did you mean "${nearest}"?`}`,
    );
  }
  const { description, inputSchema, outputSchema } = declared[name]!;
  return Object.freeze({ kind, name, description, inputSchema, outputSchema });
}

export interface SetHandlerOptions {
  description?: string;
}
export interface SetUpdateHandlerOptions<Args extends unknown[]> extends SetHandlerOptions {
  /** Throws to refuse the update before it happens. It must not be async, and can only read. */
  validator?: (...args: Args) => void;
}

// biome-ignore lint/suspicious/noExplicitAny: any definition at all; what is behind it is inferred from it.
type AnyDefinition = SignalDefinition<any, any> | QueryDefinition<any, any> | UpdateDefinition<any, any>;

type HandlerOf<D, Later> =
  D extends QueryDefinition<infer Ret, infer Args>
    ? (...args: Args) => Unchanging<Ret>
    : D extends UpdateDefinition<infer Ret, infer Args>
      ? (...args: Args) => UpdateAnswer<Unchanging<Ret>, Later>
      : D extends SignalDefinition<infer Args, infer _>
        ? (...args: Args) => unknown
        : never;
type UpdateAnswer<Ret, IsLater> = IsLater extends true ? Later<Ret> : Result<Ret>;
type OptionsOf<D> =
  D extends UpdateDefinition<infer _, infer Args> ? SetUpdateHandlerOptions<Args> : SetHandlerOptions;

/**
 * Answers messages from now on; `undefined` takes the handler away. Signals that came before are delivered at once, in
 * order. Signal and update handlers may be async, query handlers may not.
 */
export function setHandler<D extends AnyDefinition>(
  definition: D,
  handler: HandlerOf<D, true> | undefined,
  options?: OptionsOf<D>,
): void;
export function setHandler<D extends AnyDefinition>(
  definition: D,
  handler: HandlerOf<D, false> | undefined,
  options?: OptionsOf<D>,
): void;
export function setHandler(
  definition: Definition<MessageKind>,
  handler: Handler | undefined,
  options: HandlerOptions = {},
): void {
  const runtime = currentRuntime('setHandler()');
  runtime.assertMayAct('setHandler()');
  const { kind, name, description, inputSchema, outputSchema } = definition ?? {};
  if (kind !== 'signal' && kind !== 'query' && kind !== 'update') {
    throw new DefinitionError(
      'setHandler() needs what defineSignal(), defineQuery() or defineUpdate() gives',
    );
  }
  checkMessageName(kind, name);
  const what = `${kind} "${name}"`;
  checkOptions(`setHandler() of ${what}`, options, ['description', 'validator']);
  for (const [part, fn] of [
    ['handler', handler],
    ['validator', options.validator],
  ] as const) {
    if (fn !== undefined && typeof fn !== 'function') {
      throw new DefinitionError(`the ${part} of ${what} is not a function`);
    }
  }
  if (options.validator && kind !== 'update') {
    throw new DefinitionError(`${what} has a validator: only updates can be refused`);
  }
  runtime.setHandler(kind, name, handler, {
    description: options.description ?? description,
    validator: options.validator,
    inputSchema,
    outputSchema,
  });
}

/** Whether no signal or update handler is under way: `await condition(allHandlersFinished)` before returning. */
export function allHandlersFinished(): boolean {
  return currentRuntime('allHandlersFinished()').allHandlersFinished();
}
