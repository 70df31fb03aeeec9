/** Which code runs for a step of a workflow. */
import type { StepDefinition } from '../sdk/definition.js';

export class StepTable {
  readonly #byWorkflow = new Map<string, ReadonlyMap<string, StepDefinition>>();

  set(workflowType: string, steps: ReadonlyMap<string, StepDefinition>): void {
    this.#byWorkflow.set(workflowType, steps);
  }

  find(workflowType: string, stepName: string): StepDefinition | undefined {
    return this.#byWorkflow.get(workflowType)?.get(stepName);
  }
}
