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
  eval: 'write the code into a file of the workflow',
};

const NO_BROWSER = 'workflows do not run in a browser';
const IN_A_REQUEST = 'use sendHttpRequest(), or do it in a step and await that';
const WORKFLOW_TIME = 'use Date.now(), which shows the time of the workflow';

/** Names that do not exist in here at all, so that `typeof` says so. */
const MISSING: Readonly<Record<string, string>> = {
  process: 'read settings in a step, or pass them as input',
  Buffer: 'use TextEncoder, atob or btoa, or do it in a step',
  require: 'import packages at the top of the file; node built-ins belong into a step',
  global: 'use globalThis, or better a variable',
  clearImmediate: 'there is no setImmediate either: use await sleep()',
  clearInterval: 'there is no setInterval either: use a loop with await sleep()',
  window: NO_BROWSER,
  self: NO_BROWSER,
  document: NO_BROWSER,
  performance: WORKFLOW_TIME,
  Performance: WORKFLOW_TIME,
  PerformanceObserver: WORKFLOW_TIME,
  Headers: IN_A_REQUEST,
  Request: IN_A_REQUEST,
  Response: IN_A_REQUEST,
  FormData: IN_A_REQUEST,
  AbortSignal: 'use CancellationScope',
  ...Object.fromEntries(
    [
      '__dirname',
      '__filename',
      'localStorage',
      'sessionStorage',
      'indexedDB',
      'navigator',
      'Navigator',
      'Storage',
      'Worker',
      'WebAssembly',
      'MessageChannel',
      'MessagePort',
      'MessageEvent',
      'BroadcastChannel',
      'Event',
      'EventTarget',
      'CustomEvent',
      'CloseEvent',
      'ErrorEvent',
      'PerformanceEntry',
      'PerformanceMark',
      'PerformanceMeasure',
      'PerformanceObserverEntryList',
      'PerformanceResourceTiming',
      'Blob',
      'File',
      'DOMException',
      'Crypto',
      'CryptoKey',
      'SubtleCrypto',
      'URLPattern',
      'QuotaExceededError',
      'ReadableStream',
      'ReadableStreamDefaultReader',
      'ReadableStreamBYOBReader',
      'ReadableStreamBYOBRequest',
      'ReadableByteStreamController',
      'ReadableStreamDefaultController',
      'WritableStream',
      'WritableStreamDefaultController',
      'WritableStreamDefaultWriter',
      'TransformStream',
      'TransformStreamDefaultController',
      'ByteLengthQueuingStrategy',
      'CountQueuingStrategy',
      'TextEncoderStream',
      'TextDecoderStream',
      'CompressionStream',
      'DecompressionStream',
    ].map((name) => [name, IN_A_STEP]),
  ),
};

export function refusal(name: string, remedy: string): string {
  return `${name} cannot be used in a workflow, since a replay would not give the same answer: ${remedy}`;
}

/** The message for a name that a workflow used and that does not exist in here. */
export function remedyFor(name: string): string | undefined {
  const remedy = Object.hasOwn(MISSING, name) ? MISSING[name] : undefined;
  return remedy === undefined ? undefined : refusal(name, remedy);
}
