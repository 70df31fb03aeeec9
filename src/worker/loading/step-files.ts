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

/** The file that was being loaded when the step was defined, be it that a function of another file has made it; or nothing. */
export const fileLoadingStep = ({ stack }: DefinedStep): string =>
  firstFile(stack, (line) => TOP_LEVEL.test(line)) || firstFile(stack);

/** An absolute path, or nothing. */
function fileOf(step: DefinedStep): string {
  let file = files.get(step);
  if (file === undefined) {
    file = firstFile(step.stack);
    files.set(step, file);
  }
  return file;
}

/**
 * Of this package there may be another instance, installed or linked from a checkout, and what stands in for it as a module
 * of its own. An author's folder may have its name as well: `perdure/src/order/steps.cjs`.
 */
const NOT_AUTHORS =
  /^(perdure-of:|node:)|[\\/]node_modules[\\/]perdure[\\/](dist|src)[\\/]|[\\/]perdure[\\/](dist|src)[\\/]sdk[\\/]/;

/** The frame of a file itself, as CommonJS and modules have it, with source maps and without. */
const TOP_LEVEL = /^\s*at ((Object\.)?<anonymous> \(|file:|\/)/;

function firstFile(stack: string, isWanted: (line: string) => boolean = () => true): string {
  for (const line of withoutOwnFrames(stack).split('\n').slice(1)) {
    const file = placeIn(line)?.file;
    if (file === undefined || NOT_AUTHORS.test(file) || !isWanted(line)) continue;
    const [path = ''] = file.split('?');
    return path.startsWith('file:') ? fileURLToPath(path) : path;
  }
  return '';
}
