/**
 * Which failures of a case a restart of the server excuses.
 *
 * 1. A restart that cuts off an attempt of a step may rightly bring a case to another end: the attempt has taken a number,
 *    where there may be only one attempt it was that, and what it had said that it spent counts only if the disk has it. So
 *    a try of a case may fail if it was looked up in the file that an attempt of one of its own runs was cut off meanwhile.
 * 2. A few cases are about a moment that a restart moves, or about workers that are there. They have names here, and may
 *    fail if the server was restarted meanwhile.
 * 3. Whatever is excused is tried again until a try of it passes. What nothing excuses is red at once.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { aroundEach, beforeAll, type RunnerTestSuite } from 'vitest';
import type { CutOffAttempt } from './stored.js';

const ASKED = 'what a run takes is asked of its code, which no worker has right after the restart';
const CONNECTED = 'right after the restart no worker has connected yet';
const IN_TIME = 'the case is about a moment that the restart moves';

export const CHANGED_BY_ANY_RESTART: Readonly<Record<string, string>> = {
  'the wait between attempts grows and is capped, below a second too (AC-04)': IN_TIME,
  'what was pending beside the point is pending in the new run (RS-09)': IN_TIME,
  'nobody has sent what it waits for': ASKED,
  'nobody has sent what it waits for, and there is time for that': ASKED,
  'each worker is listed with its code, and a run says which code made its last turn': CONNECTED,
};

/** A step of a second meets several restarts in a row where many cases run side by side. */
const TRIES = 15;

/** One try of one case. */
interface Try {
  /** Of the runs that were started by it, also those that others have started for them. */
  readonly trees: Set<string>;
  readonly restarts: number;
  readonly cutOff: number;
}

/** What restarts have done, and to whom. */
export class Restarts {
  readonly #tries = new AsyncLocalStorage<Try>();
  readonly #cutOff: CutOffAttempt[] = [];
  #count = 0;
  /** Of tries, with the reasons. */
  readonly excused: string[] = [];

  begun(): Try {
    return { trees: new Set(), restarts: this.#count, cutOff: this.#cutOff.length };
  }

  during<T>(one: Try, action: () => T): T {
    return this.#tries.run(one, action);
  }

  /** By the case whose call it is. */
  started(workflowId: string): void {
    this.#tries.getStore()?.trees.add(workflowId);
  }

  restarted(cutOff: readonly CutOffAttempt[]): void {
    this.#count++;
    this.#cutOff.push(...cutOff);
  }

  excuse(name: string, { trees, restarts, cutOff }: Try): string | undefined {
    const own = this.#cutOff.slice(cutOff).find(({ tree }) => trees.has(tree));
    if (own) return `${own.name} of ${own.workflowId} was cut off`;
    return restarts === this.#count ? undefined : CHANGED_BY_ANY_RESTART[name];
  }

  isAnySince({ restarts }: Try): boolean {
    return restarts !== this.#count;
  }
}

/** Inside a suite. In a share of it, which must not be red by chance, any restart meanwhile is enough of an excuse. */
export function repeatWhatRestartsChange(restarts: Restarts, isWhole: boolean): void {
  const excused = new Set<string>();
  // biome-ignore lint/correctness/noEmptyPattern: vitest wants its context taken apart, also by who needs nothing of it
  beforeAll(({}, suite) => {
    const tests = testsOf(suite);
    for (const test of tests) test.retry = { count: TRIES, condition: () => excused.delete(test.id) };
    if (!isWhole) return;
    const names = new Set(tests.map(({ name }) => name));
    const unknown = Object.keys(CHANGED_BY_ANY_RESTART).filter((name) => !names.has(name));
    if (unknown.length > 0) throw new Error(`no case has the name ${unknown.join('; ')}`);
  });
  aroundEach(async (run, { task }) => {
    const one = restarts.begun();
    await restarts.during(one, run);
    if (task.result?.state !== 'fail') return;
    const reason = restarts.excuse(task.name, one);
    if (reason) restarts.excused.push(`${task.name}: ${reason}: ${task.result.errors?.at(-1)?.message}`);
    if (reason || (!isWhole && restarts.isAnySince(one))) excused.add(task.id);
  });
}

type Test = Exclude<RunnerTestSuite['tasks'][number], RunnerTestSuite>;

function testsOf({ tasks }: RunnerTestSuite): Test[] {
  return tasks.flatMap((task) => (task.type === 'suite' ? testsOf(task) : [task]));
}
