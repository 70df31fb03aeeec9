/** What a run that has ended returned, for standard output. */
import { outputOf } from '../../client/errors.js';
import type { OutcomeOptions, WorkflowHandle } from '../../client/index.js';
import { printJson } from './screen.js';

/** @throws what it failed with */
export async function printOutcome(
  handle: WorkflowHandle,
  { json, ...options }: OutcomeOptions & { json?: boolean },
): Promise<void> {
  const outcome = await handle.outcome(options);
  if (json) printJson(outcome);
  const output = outputOf(outcome);
  if (!json) printJson(output);
}
