/**
 * Cases that a restart of the server may rightly bring to another end: an attempt of a step that the restart has cut off
 * takes a number, where there may be only one attempt it takes that, and what it has said that it spent counts only if it
 * had reached the disk. Such a case is tried again, but only if the server
 * was restarted while it ran. In a run of the whole contract all others have to pass at once; in a share of it, which must
 * not be red by chance, any case may be tried again for that reason.
 */
import { afterEach, beforeAll, beforeEach, type RunnerTestSuite } from 'vitest';

const NUMBERED = 'the case tells attempts apart by their numbers';
const ONLY_ONE = 'the step may be tried once only';
const HELD_BACK = 'an attempt that the restart cuts off is not made again while the run is paused';
const SAID =
  'what an attempt that the restart cuts off has spent counts if the disk has it, and is spent again by the next';
const ASKED = 'what a run takes is asked of its code, which no worker has right after the restart';
const IN_TIME = 'the case is about a moment that the restart moves';

export const CHANGED_BY_RESTARTS: Readonly<Record<string, string>> = {
  'a step knows who it is, and its idempotency key is its own': NUMBERED,
  'a step is tried again until it succeeds, and leaves one outcome (AC-03)': NUMBERED,
  'when the attempts are used up, the last failure counts (AC-03)': NUMBERED,
  'an error that is not on the list is retried': NUMBERED,
  'the wait between attempts grows and is capped, below a second too (AC-04)': IN_TIME,
  'an error comes back with its class, properties and causes (AC-01)': ONLY_ONE,
  'a step error that nobody catches fails the run under its own name, with the step': ONLY_ONE,
  'a thrown text is an error with that message': ONLY_ONE,
  "a step's failure in a handler fails the update only": ONLY_ONE,
  'a failed run can be started over (RS-03)': ONLY_ONE,
  'what was pending beside the point is pending in the new run (RS-09)': IN_TIME,
  'answers in the order of the jobs, failed ones included': ONLY_ONE,
  'a request to an address that is not allowed fails at once, and names the option': NUMBERED,
  'start-to-close ends one attempt and the next one may succeed (AC-06)': NUMBERED,
  'a silent step times out, and the next attempt gets its last heartbeat (AC-09)': NUMBERED,
  'a heartbeat timeout on the last attempt is a timeout of that kind': NUMBERED,
  'a failed attempt leaves its heartbeat to the next': NUMBERED,
  'a step that beats outlives its heartbeat timeout': IN_TIME,
  'an attempt that has lost the step cannot answer for it any more (AC-16, WT-23)': NUMBERED,
  'schedule-to-close ends the step while an attempt is under way (AC-08)': IN_TIME,
  'an attempt that would begin after schedule-to-close is not waited for (AC-08)': IN_TIME,
  'a step may finish its work although it was cancelled (AC-11, AC-14)': ONLY_ONE,
  'a cancelled step that throws an error of its own has failed, and is not tried again': ONLY_ONE,
  'cancelling a run reaches its step (wait) (CA-07)': ONLY_ONE,
  'a step runs': NUMBERED,
  'a step has failed and is tried again later': NUMBERED,
  'keeps what its step returns and starts nothing new, until it is resumed': HELD_BACK,
  'takes signals that it sees when it is resumed, before what else came': HELD_BACK,
  'goes on as a run that is not paused when it is reset': HELD_BACK,
  'makes no further attempt of a step that fails meanwhile': HELD_BACK,
  'it is paused, whatever else it waits for': HELD_BACK,
  'nobody has sent what it waits for': ASKED,
  'nobody has sent what it waits for, and there is time for that': ASKED,
  'is summed up over retries, and makes no event more': NUMBERED,
  'is kept by a step that fails for good': SAID,
  'is seen while a step runs, also by the next attempt that was told something else': SAID,
  'stays with an attempt that takes too long': SAID,
  'stays with a step that is cancelled': ONLY_ONE,
  'pauses the run before the step that would go beyond it; raised, it goes on and no step runs twice':
    IN_TIME,
  'holds back a further attempt of a step that fails': NUMBERED,
  'an attempt that was used up is not given again: retries go on counting': NUMBERED,
  'exit ends the worker, not the run (F21, F23)': NUMBERED,
  'exitCleanly ends the worker, not the run (F21, F23)': NUMBERED,
  'sigkill ends the worker, not the run (F21, F23)': NUMBERED,
  'memory ends the worker, not the run (F21, F23)': NUMBERED,
  'in the middle of a step: the step is tried again, completed ones are not (AC-23, AC-24, WT-22)': NUMBERED,
};

/** A step of a second meets several restarts in a row where many cases run side by side. */
const TRIES = 15;

/** Inside a suite, the whole of it or a share. `restarts` counts them. Answers with the list of failures that nothing excuses, filled as cases run. */
export function repeatWhatRestartsChange(restarts: () => number, isWhole: boolean): string[] {
  const mayChange = (name: string) => !isWhole || name in CHANGED_BY_RESTARTS;
  const unexcused: string[] = [];
  const before = new Map<string, number>();
  // biome-ignore lint/correctness/noEmptyPattern: vitest wants its context taken apart, also by who needs nothing of it
  beforeAll(({}, suite) => {
    const tests = testsOf(suite);
    for (const test of tests) if (mayChange(test.name)) test.retry = TRIES;
    if (!isWhole) return;
    const names = new Set(tests.map(({ name }) => name));
    const unknown = Object.keys(CHANGED_BY_RESTARTS).filter((name) => !names.has(name));
    if (unknown.length > 0) throw new Error(`no case has the name ${unknown.join('; ')}`);
  });
  beforeEach(({ task }) => {
    before.set(task.id, restarts());
  });
  afterEach(({ task }) => {
    if (task.result?.state !== 'fail' || !mayChange(task.name)) return;
    if (before.get(task.id) === restarts()) {
      unexcused.push(`${task.name}: ${task.result.errors?.at(-1)?.message}`);
    }
  });
  return unexcused;
}

type Test = Exclude<RunnerTestSuite['tasks'][number], RunnerTestSuite>;

function testsOf({ tasks }: RunnerTestSuite): Test[] {
  return tasks.flatMap((task) => (task.type === 'suite' ? testsOf(task) : [task]));
}
