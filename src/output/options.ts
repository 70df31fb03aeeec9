/** How Output's authors set up steps, in the words of perdure. */
import type { StepOptions } from '../sdk/index.js';
import { DefinitionError } from '../sdk/index.js';

/** The options of a step or an evaluator: those of its activity, under that name. Perdure's own work as well. */
export interface ActivityOptionsHolder extends StepOptions {
  activityOptions?: StepOptions;
}

/** What Temporal has and perdure has no counterpart of; each would be taken and do nothing. */
const WITHOUT_COUNTERPART: Record<string, string> = {
  activityId: 'perdure numbers the steps of a run itself',
  allowEagerDispatch: 'perdure hands steps out as early as it can',
  priority: 'perdure shares workers fairly between runs',
  summary: 'give the step a description instead',
  taskQueue: 'a step runs where its workflow does',
  versioningIntent: 'steps go to workers that have them',
};

/** @throws DefinitionError for an option that would do nothing */
export function stepOptionsOf(what: string, options: ActivityOptionsHolder | undefined): StepOptions {
  const { activityOptions = {}, ...own } = options ?? {};
  for (const name of Object.keys(activityOptions)) {
    const why = WITHOUT_COUNTERPART[name];
    if (why !== undefined) {
      throw new DefinitionError(
        `activityOptions.${name} of ${what} has no counterpart here: ${why}. Remove it`,
      );
    }
  }
  const retry = own.retry || activityOptions.retry;
  return { ...own, ...activityOptions, ...(retry && { retry: { ...own.retry, ...activityOptions.retry } }) };
}
