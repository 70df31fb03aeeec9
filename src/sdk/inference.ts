/**
 * How the types of definitions follow from what an author writes.
 *
 * Where a schema or a message says what a function answers, the texts, numbers and lists that it returns keep their
 * exact types, so that `return { status: 'open' }` fits an enum without `as const`. TypeScript would widen them:
 *
 * 1. In an object literal it looks at `fn` before it knows the schema beside it. So what `fn` returns is a constant type
 *    parameter of its own (`Exact`), held against the schema afterwards (`Fitting`).
 * 2. An async function whose return type may also be no promise has its single literal widened. So each function has a
 *    signature for promises alone (`Later`) before that for both; what TypeScript finds out with the first it keeps.
 */

export type Result<T> = T | Promise<T>;

/** A promise. The second half is one as well, and shows what T is to functions that return none. */
export type Later<T> = Promise<T> | (T & Promise<T>);

// biome-ignore lint/suspicious/noConfusingVoidType: a function may return nothing.
type Leaf = string | number | bigint | boolean | symbol | null | undefined | void;

/** Any value. With the primitive types by name, TypeScript keeps the literals of what is inferred for it. */
export type Exact = Leaf | object;

/** Nothing more to ask for if `Returned` is what `Wanted` says; otherwise an `fn` that returns that. */
export type Fitting<Wanted, Returned, Fn> = [Returned] extends [Unchanging<Wanted>]
  ? unknown
  : { fn: NoInfer<Fn> };

/** What was inferred as a constant is read-only, which does no harm to a value that is only read. */
export type Unchanging<T> = unknown extends T
  ? T
  : T extends Leaf | ((...args: never) => unknown)
    ? T
    : { readonly [Key in keyof T]: Unchanging<T[Key]> };

/** The argument of a call: left out where the input may be undefined. */
export type CallInput<Input> = unknown extends Input
  ? [input?: Input]
  : undefined extends Input
    ? [input?: Input]
    : [input: Input];
