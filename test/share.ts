/**
 * What takes long because it asks the same many times over, of another engine or in another way of running it, is asked
 * in `npm test` for a share of its cases, always the same ones. `npm run test:everything` asks for all of them, and so does
 * vitest when it is called by itself.
 */
import { beforeAll, inject, type RunnerTask, type RunnerTestSuite, TestRunner } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    isShare: boolean;
  }
  interface TaskMeta {
    /** Set where only `npm run test:everything` takes the case. */
    isBeyondShare?: boolean;
  }
}

const IS_SHARE = inject('isShare') ?? false;

/** Inside a suite: of its cases one in so many, chosen by name, so that a case does not come and go with others. */
export function takeOneIn(count: number): void {
  if (!IS_SHARE) return;
  // biome-ignore lint/correctness/noEmptyPattern: vitest wants its context taken apart, also by who needs nothing of it
  beforeAll(({}, suite) => leaveOut(suite, count));
}

/** How much of something that can be had in any amount, or which of it. */
export function share<T>(ofShare: T, ofEverything: T): T {
  return IS_SHARE ? ofShare : ofEverything;
}

function leaveOut(suite: RunnerTestSuite, count: number): void {
  for (const task of suite.tasks) {
    if (task.type === 'suite') leaveOut(task, count);
    else if (task.mode === 'run' && hash(task.name) % count !== 0) {
      task.mode = 'skip';
      task.result = { state: 'skip' };
      task.meta.isBeyondShare = true;
    }
  }
  if (suite.tasks.some(isLeft)) return;
  // Nothing is prepared where nothing is left.
  const { beforeAll, afterAll } = TestRunner.getSuiteHooks(suite);
  beforeAll.length = 0;
  afterAll.length = 0;
}

function isLeft(task: RunnerTask): boolean {
  return task.type === 'suite' ? task.tasks.some(isLeft) : task.mode === 'run';
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const char of text) value = Math.imul(value ^ char.codePointAt(0)!, 0x01000193) >>> 0;
  return value;
}
