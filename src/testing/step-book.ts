/** Which code runs for a step in a test, its own or a mock's, and what every step was called with. */

import type { StepTask } from '../core/task.js';
import { decodePayload } from '../core/values/json.js';
import { unknownName } from '../core/values/nearest.js';
import { type StepDefinition, stepDefinition, workflowDefinition } from '../sdk/definition.js';
import { UsageError } from '../sdk/errors.js';
import type { LoadedWorkflows } from '../worker/loading/loader.js';
import { fileOfStep, stepsOfFile } from '../worker/loading/step-files.js';
import type { StepCall, StepLike } from './types.js';

export type MockFunction = (input: never) => unknown;

export class StepBook {
  readonly #mocks = new Map<string, MockFunction>();
  readonly #calls: (StepCall & { workflowId: string; workflowType: string; stepName: string })[] = [];

  constructor(
    private readonly loaded: LoadedWorkflows,
    mocks: Iterable<readonly [string, MockFunction]> = [],
  ) {
    this.#mocks = new Map(mocks);
  }

  get mocks(): ReadonlyMap<string, MockFunction> {
    return this.#mocks;
  }

  /** @throws UsageError for what is no step of these workflows */
  mock(step: StepLike, fn: MockFunction): void {
    const names = this.#namesOf(step);
    if (typeof fn !== 'function') {
      throw new UsageError(
        `the mock of step "${names[0]}" is ${describe(fn)}: give a function like the step's own`,
      );
    }
    for (const name of names) this.#mocks.set(name, fn);
  }

  /** By its name: for every workflow, also where a definition was mocked for some of them. */
  unmock(step: StepLike): void {
    const names = this.#namesOf(step);
    for (const mocked of this.#mocks.keys()) {
      const [, ofWorkflow] = mocked.split('#');
      if (names.includes(mocked) || (ofWorkflow && names.includes(ofWorkflow))) this.#mocks.delete(mocked);
    }
  }

  unmockAll(): void {
    this.#mocks.clear();
  }

  /** The code for a step: that of its mock, with the schemas and all else that is the step's own. */
  find(workflowType: string, stepName: string): StepDefinition | undefined {
    const loaded = this.loaded.steps.find(workflowType, stepName);
    const own = loaded && (this.#asImported(loaded) ?? loaded);
    const fn = this.#mocks.get(`${workflowType}#${stepName}`) ?? this.#mocks.get(stepName);
    return own && fn ? { ...own, fn } : own;
  }

  /**
   * The step as the test itself has imported it. A test runner may have modules of its own making: then that is the
   * instance whose breakpoints, module mocks and state the test knows.
   */
  #asImported(loaded: StepDefinition): StepDefinition | undefined {
    const file = fileOfStep(loaded);
    if (file === undefined) return undefined;
    return stepsOfFile(file)
      .map(({ definition }) => definition)
      .findLast((each) => each.name === loaded.name && each !== loaded);
  }

  called({ workflowId, workflowType, stepName, input, attempt }: StepTask): void {
    this.#calls.push({ workflowId, workflowType, stepName, input: decodePayload(input[0]), attempt });
  }

  calls(workflowId: string, step: StepLike): StepCall[] {
    const names = this.#namesOf(step);
    return this.#calls
      .filter((call) => call.workflowId === workflowId)
      .filter(
        ({ workflowType, stepName }) =>
          names.includes(stepName) || names.includes(`${workflowType}#${stepName}`),
      )
      .map(({ input, attempt }) => ({ input, attempt }));
  }

  /**
   * The names that stand for the step: its own or, of a definition where others have a step of that name too, `workflow#step` for
   * each workflow that has this very one. @throws UsageError for what is no step of these workflows
   */
  #namesOf(step: StepLike): string[] {
    const name = this.#nameOf(step);
    const definition = typeof step === 'string' ? undefined : stepDefinition(step);
    const file = definition && fileOfStep(definition);
    if (file === undefined) return [name];
    const namesakes = this.loaded.steps.namesakes(name);
    const same = namesakes.filter((each) => fileOfStep(each.definition) === file);
    if (same.length === 0 || same.length === namesakes.length) return [name];
    return same.map(({ workflowType }) => `${workflowType}#${name}`);
  }

  /** @throws UsageError for what is no step of these workflows */
  #nameOf(step: StepLike): string {
    const name = typeof step === 'string' ? step : stepDefinition(step)?.name;
    if (name === undefined) {
      const workflow = workflowDefinition(step)?.name;
      throw new UsageError(
        workflow === undefined
          ? `${describe(step)} is not a step: give what step({ … }) gave, or the name of a step`
          : `"${workflow}" is a workflow and no step: its own steps can be mocked, and it runs for real as a child`,
      );
    }
    if (this.loaded.steps.has(name)) return name;
    throw new UsageError(
      `${unknownName('step', name, this.loaded.steps.names)} (in ${this.loaded.directory})`,
    );
  }
}

function describe(value: unknown): string {
  return typeof value === 'function' ? 'a plain function' : value === null ? 'null' : `a ${typeof value}`;
}
