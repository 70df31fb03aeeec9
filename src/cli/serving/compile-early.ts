import { setFlagsFromString } from 'node:v8';

/** Since then V8 has a quick compiler between these two, and other names for what is set here. */
const IS_MEASURED = /^11\./.test(process.versions.v8);

/**
 * Lets V8 compile sooner what runs over and over: by default it waits until a function has shown itself for so long that a
 * server with few callers still interprets most of a call after thousands of them. Compiling happens on another thread.
 *
 * Not for workers: of a workflow whose files keep state each run evaluates its own copy, and what V8 compiles of that is thrown away
 * with the run, which doubled what such runs cost.
 *
 * 1. A function whose budget is used up is compiled after two or three such times; the default is 66 kB of bytecode.
 * 2. What V8 has to know of a function to compile it well is gathered from its first call on.
 */
export function compileEarly(): void {
  if (!IS_MEASURED) return;
  setFlagsFromString('--interrupt-budget=10000');
  setFlagsFromString('--no-lazy-feedback-allocation');
}
