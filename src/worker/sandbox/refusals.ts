/** What workflow code must not use, since its answer could differ when the run is replayed, and what to do instead. */

const IN_A_STEP = 'do it in a step and await that';

/** Functions and classes that exist in here, so that libraries may look for them, and refuse to be used. */
export const REFUSED_FUNCTIONS: Readonly<Record<string, string>> = {
  fetch: 'use sendHttpRequest(), or do it in a step and await that',
  XMLHttpRequest: 'use sendHttpRequest(), or do it in a step and await that',
  WebSocket: IN_A_STEP,
  EventSource: IN_A_STEP,
  setInterval: 'use a loop with await sleep()',
  setImmediate: 'use await sleep(), or just await a promise',
  WeakRef: 'when an object is collected differs from run to run, so hold it by an ordinary reference',
  FinalizationRegistry: 'when an object is collected differs from run to run, so clean up in a finally block',
  SharedArrayBuffer: 'use ordinary arrays',
};

/** Names that do not exist in here at all, so that `typeof` says so. */
const MISSING: Readonly<Record<string, string>> = {
  process: `read settings in a step, or pass them as input`,
  Buffer: 'use TextEncoder, atob or btoa, or do it in a step',
  require: 'import packages at the top of the file; node built-ins belong into a step',
  __dirname: IN_A_STEP,
  __filename: IN_A_STEP,
  global: 'use globalThis, or better a variable',
  window: 'workflows do not run in a browser',
  document: 'workflows do not run in a browser',
  localStorage: IN_A_STEP,
  navigator: IN_A_STEP,
  performance: 'use Date.now(), which shows the time of the workflow',
  Worker: IN_A_STEP,
  WebAssembly: IN_A_STEP,
  AbortSignal: 'use CancellationScope',
  MessageChannel: IN_A_STEP,
  BroadcastChannel: IN_A_STEP,
};

export function refusal(name: string, remedy: string): string {
  return `${name} cannot be used in a workflow, since a replay would not give the same answer: ${remedy}`;
}

/** The message for a name that a workflow used and that does not exist in here. */
export function remedyFor(name: string): string | undefined {
  const remedy = Object.hasOwn(MISSING, name) ? MISSING[name] : undefined;
  return remedy === undefined ? undefined : refusal(name, remedy);
}
