/**
 * Cases that an engine cannot pass, by name and with the reason. They belong to the engine: the cases know nothing of
 * it. A name that no case has is an error, so that the list cannot outlive what it is about.
 */
import { beforeAll, beforeEach, type RunnerTestSuite } from 'vitest';

export type Skips = Readonly<Record<string, string>>;

/** Inside a suite: skips those of its cases, and tells why. */
export function skipByName(skips: Skips): void {
  // biome-ignore lint/correctness/noEmptyPattern: vitest wants its context taken apart, also by who needs nothing of it
  beforeAll(({}, suite) => {
    const names = new Set(testNames(suite));
    const unknown = Object.keys(skips).filter((name) => !names.has(name));
    if (unknown.length > 0)
      throw new Error(`no case has the name that is to be skipped: ${unknown.join('; ')}`);
  });
  beforeEach(({ task, skip }) => {
    const reason = skips[task.name];
    if (reason !== undefined) skip(reason);
  });
}

function testNames({ tasks }: RunnerTestSuite): string[] {
  return tasks.flatMap((task) => (task.type === 'suite' ? testNames(task) : [task.name]));
}
