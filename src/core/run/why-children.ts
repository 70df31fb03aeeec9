/** Children as reasons: a run that waits for one is led down to where somebody has to act. */
import type { RunStatus } from './run.js';
import type { StuckRun } from './why.js';
import { pathOf, type ReasonOf, type RunName } from './why-reasons.js';

interface ChildName extends RunName {
  workflowType: string;
  status: RunStatus;
}

/** `stuck` is where somebody has to act so that the child goes on. */
function childReason(child: ChildName, stuck: StuckRun | undefined): ReasonOf<'child'> {
  const { workflowId, runId, workflowType, status } = child;
  const message = `It waits for its child "${workflowType}" (${workflowId})`;
  return {
    code: 'child',
    message: stuck ? `${message}, ${whereItIsStuck(child, stuck)}` : `${message}.`,
    action: stuck
      ? `See what to do there: GET ${pathOf(stuck)}/why`
      : `Ask why that one is where it is: GET ${pathOf(child)}/why`,
    ...{ workflowId, runId, workflowType, status },
    ...(stuck && { stuckAt: stuck }),
  };
}

/** What is said about the other run is the end of the sentence. */
function whereItIsStuck(child: ChildName, stuck: StuckRun): string {
  const which =
    stuck.workflowId === child.workflowId
      ? 'which is stuck'
      : `below which "${stuck.workflowType}" (${stuck.workflowId}) is stuck`;
  return `${which}: ${stuck.summary.charAt(0).toLowerCase()}${stuck.summary.slice(1)}`;
}

/** Those that are stuck come first: they are what the reader is led to. */
export function childReasons(
  children: readonly { child: ChildName; stuck: StuckRun | undefined }[],
): ReasonOf<'child'>[] {
  const isStuck = ({ stuck }: { stuck: StuckRun | undefined }) => stuck !== undefined;
  const inOrder = [...children.filter(isStuck), ...children.filter((each) => !isStuck(each))];
  return inOrder.map(({ child, stuck }) => childReason(child, stuck));
}

/**
 * How many runs are looked at below the one that was asked about, children and theirs: somebody waits for the answer, and
 * a list asks about a hundred runs. What is beyond it is taken to go on.
 */
const MAX_LOOKED_AT_BELOW = 20;

/** Counts the runs that are looked at below one. */
export class LooksBelow {
  #left = MAX_LOOKED_AT_BELOW;

  /** Whether one more may be looked at, which it then is. */
  take(): boolean {
    return this.#left-- > 0;
  }
}
