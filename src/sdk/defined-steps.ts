/**
 * The steps that files of this process have defined, and where: a loader finds those that no file exports, and the test
 * helper those that the test itself has imported. Shared over instances of this package. There is no such list in the
 * workflow sandbox, where files are evaluated for every run.
 */
import type { StepDefinition } from './definition.js';

export interface DefinedStep {
  readonly definition: StepDefinition;
  /** Of the call that defined it; the innermost frame outside this package is its file. */
  readonly stack: string;
}

const LIST: unique symbol = Symbol.for('perdure.definedSteps');
const shared = globalThis as unknown as { [LIST]?: DefinedStep[]; process?: NodeJS.Process };

const isNode = shared.process?.versions?.node !== undefined;

/** Frames of this package and of whatever wraps it may stand before those of the author's file. */
const FRAMES = 25;

export function rememberStep(definition: StepDefinition): void {
  if (!isNode) return;
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = FRAMES;
  const { stack = '' } = new Error();
  Error.stackTraceLimit = stackTraceLimit;
  shared[LIST] ??= [];
  shared[LIST].push({ definition, stack });
}

/** In the order of their definition. */
export const definedSteps = (): readonly DefinedStep[] => shared[LIST] ?? [];
