/** Worker processes of a Temporal cluster, kept running like those of the embedded engine. */
import { fileURLToPath } from 'node:url';
import { DEFAULT_LIMITS } from '../../core/bounds/limits.js';
import type { TurnLimits } from '../../core/bounds/turn-limits.js';
import type { TracePlan } from '../../engine.js';
import {
  superviseWorkers,
  type WorkerSupervisor,
  type WorkersOptions,
} from '../../worker/supervision/supervisor.js';
import type { TemporalSettings } from '../cluster/connection.js';
import type { TemporalWorkerOptions } from './worker.js';

/** Built code, from src/ and from dist/ alike: a worker process knows no TypeScript of ours. */
const PROGRAM = fileURLToPath(new URL('../../../dist/temporal/worker/main.js', import.meta.url));

/**
 * How long the worker of a step may be silent before the step is tried elsewhere. A step that computes for longer
 * without letting anything else run is not told from a worker that is gone.
 */
const DEFAULT_LIVENESS_MS = 10_000;

/**
 * What the answer of a turn may take: Temporal's servers refuse a message of more than 4 MiB, and the answer has more in
 * it than what the turn asks for.
 */
const TURN_BYTES = 4 * 1024 * 1024 - 64 * 1024;

/**
 * The cluster notices only by its silence that a worker has ended, so one that is blocked for a while is better waited
 * for, and a spare one would take tasks like all others.
 */
const OWN_DEFAULTS = { spares: 0, watchdog: { turnTimeoutMs: 10_000, blockMs: 60_000 } };

export interface StartTemporalWorkersOptions extends WorkersOptions {
  temporal: TemporalSettings;
  /** Bounds on what one turn may ask for, beside the size of a payload. */
  limits?: Partial<Omit<TurnLimits, 'payloadBytes' | 'turnBytes'>>;
  livenessMs?: number;
  /** Which runs get a trace, and where it will be. Whoever gives this writes them, told by `onRunClosing`. */
  traces?: TracePlan;
}

/** `ready` resolves once every worker has loaded the folder, registered the catalog and polls, or has found the cluster away. */
export function startTemporalWorkers(options: StartTemporalWorkersOptions): WorkerSupervisor {
  const { temporal, limits, livenessMs = DEFAULT_LIVENESS_MS, traces } = options;
  const { pendingPerRun, childDepth } = { ...DEFAULT_LIMITS, ...limits };
  const watchdog = { ...OWN_DEFAULTS.watchdog, ...options.watchdog };
  return superviseWorkers(
    PROGRAM,
    { ...OWN_DEFAULTS, ...options, watchdog },
    (common): TemporalWorkerOptions => {
      const { payloadBytes } = common;
      const turnLimits = { payloadBytes, turnBytes: TURN_BYTES, pendingPerRun, childDepth };
      return { ...common, temporal, livenessMs, traces, limits: turnLimits };
    },
  );
}
