/**
 * The cases of the contract that cannot hold on Temporal, by name, each with the reason. docs/temporal.md tells users
 * about the same differences.
 */
import type { Skips } from './skips.js';

/** Of what runs do. */
export const DIFFERENCES_OF_RUNS: Skips = {
  'signals that came to an earlier reset of the run are delivered to the new one again':
    'reset of an older run: the cluster looks for signals in that run and in those that it continued as, not in other resets of it',
};

/** Of what may happen to the processes around them. */
export const DIFFERENCES_OF_PROCESSES: Skips = {
  'a step whose input has changed goes to the code that asked for it, and fails no run':
    'several versions: the cluster gives a step to any worker of the task queue whose code has one of its name',
};
