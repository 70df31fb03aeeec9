/** Which code runs for a step of a workflow. */
import { type StepDefinition, stepDefinition } from '../../sdk/definition.js';
import * as httpSteps from '../../sdk/http-steps.js';

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

  /** All that the workflow can ask for. */
  namesOf(workflowType: string): string[] {
    const own = this.#byWorkflow.get(workflowType)?.keys() ?? [];
    return [...new Set([...own, ...BUILT_IN_STEPS.keys()])];
  }

  find(workflowType: string, stepName: string): StepDefinition | undefined {
    return this.#byWorkflow.get(workflowType)?.get(stepName) ?? BUILT_IN_STEPS.get(stepName);
  }

  /** The workflows that bring along a step of that name, each with its own. */
  namesakes(stepName: string): { workflowType: string; definition: StepDefinition }[] {
    return [...this.#byWorkflow].flatMap(([workflowType, steps]) => {
      const definition = steps.get(stepName);
      return definition ? [{ workflowType, definition }] : [];
    });
  }

  /** Whether any workflow has the step, by its name or by `workflow#step`. */
  has(name: string): boolean {
    const [workflowType, stepName] = name.split('#');
    if (stepName !== undefined) return this.find(workflowType!, stepName) !== undefined;
    return BUILT_IN_STEPS.has(name) || [...this.#byWorkflow.values()].some((steps) => steps.has(name));
  }

  /** Of the steps that workflows bring along. */
  get names(): string[] {
    return [...new Set([...this.#byWorkflow.values()].flatMap((steps) => [...steps.keys()]))].sort();
  }
}
