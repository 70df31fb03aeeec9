/** The Temporal engine: what the service composes it from. */

export { DEFAULT_TEMPORAL_SETTINGS, type TemporalSettings } from './cluster/connection.js';
export { TemporalEngine, type TemporalEngineOptions } from './engine.js';
export { Attendance } from './reading/attendance.js';
export { type StartTemporalWorkersOptions, startTemporalWorkers } from './worker/supervisor.js';
