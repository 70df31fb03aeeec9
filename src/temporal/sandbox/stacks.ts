/** Stack traces of workflow code, in which Temporal has turned lines of the bundle into lines of sources already. */
import type { Failure } from '../../core/failure.js';
import type { StackReader } from '../../worker/sandbox/failures.js';
import { AUTHORED } from './deployment.js';

const FRAME = /^\s+at .*$/;
const PLACE = new RegExp(`${AUTHORED}([^\\s()]+):(\\d+):(\\d+)`);

/** Columns are counted from 0 in there, and from 1 by people and editors. */
const placeIn = (match: RegExpExecArray): string => `${match[1]}:${match[2]}:${Number(match[3]) + 1}`;

export const authoredStacks: StackReader = {
  innermost(stack) {
    const match = PLACE.exec(stack);
    return match ? placeIn(match) : undefined;
  },
};

/** In place, the failure and its causes: the frames of authors' files are left, the others say nothing to them. */
export function restoreStacks(failure: Failure): void {
  for (let at: Failure | undefined = failure; at; at = at.cause) {
    if (at.stackTrace !== undefined) at.stackTrace = restore(at.stackTrace);
  }
}

function restore(stack: string): string {
  return stack
    .split('\n')
    .flatMap((line) => {
      const match = PLACE.exec(line);
      if (match) return [line.replace(match[0], placeIn(match))];
      return FRAME.test(line) && !line.includes('<anonymous>') ? [] : [line];
    })
    .join('\n');
}
