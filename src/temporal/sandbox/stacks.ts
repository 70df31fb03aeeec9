/** Stack traces of workflow code, in which Temporal has turned lines of the bundle into lines of sources already. */
import type { Failure } from '../../core/history/failure.js';
import { placeIn } from '../../worker/loading/stack-places.js';
import type { StackReader } from '../../worker/sandbox/run/failures.js';
import { AUTHORED } from './deployment.js';

const FRAME = /^\s+at .*$/;

/** The line with the place in an author's file as people write it, and that place; undefined when there is none. */
function authored(line: string): { line: string; place: string } | undefined {
  const found = placeIn(line);
  if (!found?.file.startsWith(AUTHORED) || found.column === undefined) return undefined;
  // Columns are counted from 0 in there, and from 1 by people and editors.
  const place = `${found.file.slice(AUTHORED.length)}:${found.line}:${found.column + 1}`;
  return { line: line.slice(0, found.start) + place + line.slice(found.end), place };
}

export const authoredStacks: StackReader = {
  innermost(stack) {
    for (const line of stack.split('\n')) {
      const found = authored(line);
      if (found) return found.place;
    }
    return undefined;
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
      const found = authored(line);
      if (found) return [found.line];
      return FRAME.test(line) && !line.includes('<anonymous>') ? [] : [line];
    })
    .join('\n');
}
