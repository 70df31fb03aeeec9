/** Which code runs for a step of a workflow. */
import { type StepDefinition, stepDefinition } from '../sdk/definition.js';
import * as httpSteps from '../sdk/http-steps.js';

/** Every workflow has them. */
const BUILT_IN_STEPS = new Map(
  Object.values(httpSteps)
    .map((value) => stepDefinition(value))
    .filter((definition) => definition !== undefined)
    .map((definition) => [definition.name, definition]),
);

export class StepTable {
  readonly #byWorkflow = new Map<string, ReadonlyMap<string, StepDefinition>>();

  set(workflowType: string, steps: ReadonlyMap<string, StepDefinition>): void {
    this.#byWorkflow.set(workflowType, steps);
  }

  find(workflowType: string, stepName: string): StepDefinition | undefined {
    return this.#byWorkflow.get(workflowType)?.get(stepName) ?? BUILT_IN_STEPS.get(stepName);
  }
}
