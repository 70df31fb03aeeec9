/** The order of files where nothing is known of an earlier run: those that take minutes begin, so that none of them is left over alone at the end. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const TAKES_MINUTES = [
  'test/contract/temporal-processes.test.ts',
  'test/contract/embedded-processes.test.ts',
  'src/temporal/worker/worker.test.ts',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const takesMinutes = ({ moduleId }: TestSpecification) =>
      TAKES_MINUTES.some((file) => moduleId.endsWith(file));
    return [...sorted.filter(takesMinutes), ...sorted.filter((file) => !takesMinutes(file))];
  }
}
