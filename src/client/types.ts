/** What the type of a workflow's definition says of its callers. For the type checker only. */
import type { HandlerDeclarations } from '../sdk/definition.js';
import type { InputOf, OutputOf, Schema } from '../sdk/schema.js';

/** Any definition; in place of one, for runs of which no type is known. */
// biome-ignore lint/suspicious/noExplicitAny: a definition of any input is one
export type AnyWorkflow = (input?: any, ...rest: any[]) => Promise<any>;

/** A value as it comes out of JSON. */
export type Json<T> = unknown extends T
  ? T
  : T extends { toJSON(): infer R }
    ? Json<R>
    : T extends (...args: never[]) => unknown
      ? never
      : T extends object
        ? { [K in keyof T]: Json<T[K]> }
        : T;

/** An answer: nothing is null in JSON. */
type Answer<T> = unknown extends T
  ? T
  : [T] extends [Nothing]
    ? null
    : Json<Exclude<T, undefined>> | NullFor<T>;
type NullFor<T> = undefined extends T ? null : never;
type Nothing = ReturnType<() => void> | undefined;

/** What a caller gives: before defaults and transforms. */
export type WorkflowInputOf<W extends AnyWorkflow> = Parameters<W>[0];
/** What a caller gets: parsed, and through JSON. */
export type WorkflowOutputOf<W extends AnyWorkflow> = Answer<Awaited<ReturnType<W>>>;

/** The last arguments of a call: the input may be left out where it may be undefined. */
export type InputThen<Input, Options> = unknown extends Input
  ? [input?: Input, options?: Options]
  : undefined extends Input
    ? [input?: Input, options?: Options]
    : [input: Input, options?: Options];

type Kind = 'signals' | 'queries' | 'updates';
type Declared<W extends AnyWorkflow, K extends Kind> = W extends { readonly '~messages'?: infer Messages }
  ? Messages extends Record<K, infer Declarations>
    ? Declarations
    : undefined
  : undefined;

/** The names that the definition declares; any where it declares none of the kind. */
export type MessageName<W extends AnyWorkflow, K extends Kind> =
  Declared<W, K> extends HandlerDeclarations ? Extract<keyof Declared<W, K>, string> : string;

type Declaration<W extends AnyWorkflow, K extends Kind, Name> = Name extends keyof Declared<W, K>
  ? Declared<W, K>[Name]
  : unknown;

export type PayloadOf<W extends AnyWorkflow, K extends Kind, Name> =
  Declaration<W, K, Name> extends { inputSchema: infer S extends Schema } ? InputOf<S> : unknown;
export type ReplyOf<W extends AnyWorkflow, K extends Kind, Name> =
  Declaration<W, K, Name> extends { outputSchema: infer S extends Schema } ? Answer<OutputOf<S>> : unknown;
