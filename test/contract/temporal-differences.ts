/**
 * The cases of the contract that cannot hold on Temporal, by name, each with the reason. docs/temporal.md tells users
 * about the same differences.
 */
const ANY_WORKER =
  'the cluster gives a turn to any worker of the task queue, and one whose code cannot make it can only fail it: the turn goes to somebody else, but from the second time on after ten seconds (test/temporal/versions.test.ts holds that it does)';

export const TEMPORAL_DIFFERENCES: Readonly<Record<string, string>> = {
  'a workflow that only the new code has goes to the new code alone': ANY_WORKER,
  'a run whose history does not fit the new code goes on with the old while that is connected': ANY_WORKER,
  'a run that is held back is found by that, and goes on when fitting code connects beside the other':
    ANY_WORKER,
};
