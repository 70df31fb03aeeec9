import type { ResultFormat } from '../core/run/run.js';
import type { WorkerPool, WorkerSlots } from '../core/task.js';
import type { PrivateAddresses } from '../core/values/addresses.js';
import type { WatchdogLimits } from './watchdog/watchdog-memory.js';

/** Where a server is on the machine of a developer. */
export const DEFAULT_PUBLIC_URL = 'http://127.0.0.1:3001';

/** The options of a worker that workers of every kind have, with nothing left open. */
export interface CommonWorkerOptions {
  catalog: string;
  slots: WorkerSlots;
  /** What the operator calls the code. */
  versionName?: string;
  /** Runs whose state is kept between turns; the rest is replayed. */
  cacheSize: number;
  resultFormat: ResultFormat;
  payloadBytes: number;
  watchdog: WatchdogLimits;
  allowPrivateAddresses: PrivateAddresses;
  /** Under which outsiders reach the server; by default what the worker knows of where that is. */
  publicUrl?: string;
  /** Where the supervisor listens for signs of life. */
  pulseFd: number;
  pool: WorkerPool;
}
