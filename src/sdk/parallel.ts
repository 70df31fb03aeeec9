/** Many jobs side by side, with a bound. */
import { isCancellation, UsageError } from './errors.js';
import type { Later, Result } from './inference.js';
import { checkOptions } from './options.js';
import { CancellationScope } from './scope.js';

export type JobResult<T> =
  | { ok: true; result: T; index: number }
  | { ok: false; error: unknown; index: number };

export interface ParallelOptions<T> {
  /** Functions, so that each job starts when it is its turn: `() => ship(order)`. */
  jobs: readonly (() => Result<T>)[];
  /** How many may run at a time. Default all. */
  concurrency?: number;
  /** Called as jobs end, in the order in which they end. */
  onJobCompleted?: (result: JobResult<T>) => void;
}

/**
 * Runs jobs and answers each one's outcome, in the order of `jobs`. A job that fails does not disturb the others. When
 * the surrounding scope is cancelled no further job starts, and the whole rejects once those under way have ended.
 */
export function executeInParallel<T>(
  options: Omit<ParallelOptions<T>, 'jobs'> & { jobs: readonly (() => Later<T>)[] },
): Promise<JobResult<T>[]>;
export function executeInParallel<T>(options: ParallelOptions<T>): Promise<JobResult<T>[]>;
export async function executeInParallel<T>(options: ParallelOptions<T>): Promise<JobResult<T>[]> {
  checkOptions('executeInParallel()', options, ['jobs', 'concurrency', 'onJobCompleted']);
  const { jobs, concurrency = jobs?.length, onJobCompleted } = options;
  const scope = CancellationScope.current();
  checkJobs(jobs);
  if (jobs.length === 0) return [];
  if (concurrency !== Number.POSITIVE_INFINITY && (!Number.isInteger(concurrency) || concurrency < 1)) {
    throw new UsageError(
      `executeInParallel(): concurrency is ${String(concurrency)}: use a whole number of 1 or more`,
    );
  }
  const results = new Array<JobResult<T>>(jobs.length);
  let next = 0;
  let cancellation: unknown;
  const lane = async () => {
    while (next < jobs.length && !scope.consideredCancelled) {
      const index = next++;
      const result = await outcome(jobs[index]!, index);
      if (!result.ok && scope.consideredCancelled && isCancellation(result.error))
        cancellation ??= result.error;
      results[index] = result;
      onJobCompleted?.(result);
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, jobs.length) }, lane));
  if (cancellation !== undefined) throw cancellation;
  if (next < jobs.length) throw scope.cancellation;
  return results;
}

async function outcome<T>(job: () => T | Promise<T>, index: number): Promise<JobResult<T>> {
  try {
    return { ok: true, result: await job(), index };
  } catch (error) {
    return { ok: false, error, index };
  }
}

function checkJobs(jobs: unknown): void {
  if (!Array.isArray(jobs)) throw new UsageError('executeInParallel() needs jobs, a list of functions');
  const wrong = jobs.findIndex((job) => typeof job !== 'function');
  if (wrong >= 0) {
    throw new UsageError(
      `executeInParallel(): job ${wrong} is not a function. Pass () => step(input) rather than step(input), which would start at once`,
    );
  }
}
