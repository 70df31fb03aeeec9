/** In which files the steps of this process are defined. */
import { fileURLToPath } from 'node:url';
import { type DefinedStep, definedSteps } from '../../sdk/defined-steps.js';
import type { StepDefinition } from '../../sdk/definition.js';
import { withoutOwnFrames } from './own-frames.js';
import { placeIn } from './stack-places.js';

const files = new WeakMap<DefinedStep, string>();

/** The steps that the file has defined, in the order of their definition: more than once where it was evaluated so. */
export function stepsOfFile(path: string): DefinedStep[] {
  return definedSteps().filter((step) => fileOf(step) === path);
}

/** The file that has defined the step; undefined when nobody knows. */
export function fileOfStep(definition: StepDefinition): string | undefined {
  const step = definedSteps().find((each) => each.definition === definition);
  return step && (fileOf(step) || undefined);
}

/** An absolute path, or nothing. */
function fileOf(step: DefinedStep): string {
  let file = files.get(step);
  if (file === undefined) {
    file = firstFile(step.stack);
    files.set(step, file);
  }
  return file;
}

/** Of this package there may be another instance, and what stands in for it as a module of its own. */
const NOT_AUTHORS = /^(perdure-of:|node:)|[\\/]perdure[\\/](dist|src)[\\/]/;

function firstFile(stack: string): string {
  for (const line of withoutOwnFrames(stack).split('\n').slice(1)) {
    const file = placeIn(line)?.file;
    if (file === undefined || NOT_AUTHORS.test(file)) continue;
    const [path = ''] = file.split('?');
    return path.startsWith('file:') ? fileURLToPath(path) : path;
  }
  return '';
}
