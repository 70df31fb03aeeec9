/** `perdure/server`: the service as parts, to put together inside another Node program. */
export type { Log } from './core/log.js';
export { EmbeddedEngine, type EmbeddedEngineOptions } from './embedded/index.js';
export type { Engine, RunWatch, TaskSource } from './engine.js';
export { createServer, createTokenCheck, type HttpServer, type ServerOptions } from './http/index.js';
export { attachWorkerLink, type WorkerLink, type WorkerLinkOptions } from './link/server.js';
export { Metrics, type MetricsOptions } from './telemetry/index.js';
export { type ObjectStoreSettings, type TraceMode, Traces, type TracesOptions } from './trace/index.js';
export {
  type StartWorkersOptions,
  startWorkers,
  type WorkerSupervisor,
} from './worker/supervision/supervisor.js';
