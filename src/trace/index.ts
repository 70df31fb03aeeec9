/** Traces: a closed run as a tree, in a file and in an object store. */
export { TRACE_MODES, type TraceMode } from './modes.js';
export type { Trace, TraceNode } from './nodes.js';
export type { ObjectStoreSettings } from './object-store.js';
export { type TraceLog, Traces, type TracesOptions } from './traces.js';
