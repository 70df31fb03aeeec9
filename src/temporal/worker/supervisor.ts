/** Worker processes of a Temporal cluster, kept running like those of the embedded engine. */
import { fileURLToPath } from 'node:url';
import { DEFAULT_LIMITS } from '../../core/limits.js';
import type { TurnLimits } from '../../core/turn-limits.js';
import type { TracePlan } from '../../engine.js';
import { superviseWorkers, type WorkerSupervisor, type WorkersOptions } from '../../worker/supervisor.js';
import type { TemporalSettings } from '../connection.js';
import type { TemporalWorkerOptions } from './worker.js';

/** Built code, from src/ and from dist/ alike: a worker process knows no TypeScript of ours. */
const PROGRAM = fileURLToPath(new URL('../../../dist/temporal/worker/main.js', import.meta.url));

/**
 * How long the worker of a step may be silent before the step is tried elsewhere. A step that computes for longer
 * without letting anything else run is not told from a worker that is gone.
 */
const DEFAULT_LIVENESS_MS = 10_000;

export interface StartTemporalWorkersOptions extends WorkersOptions {
  temporal: TemporalSettings;
  /** Bounds on what one turn may ask for, beside the size of a payload. */
  limits?: Partial<Omit<TurnLimits, 'payloadBytes'>>;
  livenessMs?: number;
  /** Which runs get a trace, and where it will be. Whoever gives this writes them, told by `onRunClosing`. */
  traces?: TracePlan;
}

/** `ready` resolves once every worker has loaded the folder, registered the catalog and polls, or has found the cluster away. */
export function startTemporalWorkers(options: StartTemporalWorkersOptions): WorkerSupervisor {
  const { temporal, limits, livenessMs = DEFAULT_LIVENESS_MS, traces } = options;
  const { pendingPerRun, childDepth } = { ...DEFAULT_LIMITS, ...limits };
  return superviseWorkers(PROGRAM, options, (common): TemporalWorkerOptions => {
    const { payloadBytes } = common;
    return { ...common, temporal, livenessMs, traces, limits: { payloadBytes, pendingPerRun, childDepth } };
  });
}
