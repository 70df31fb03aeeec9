/** The bounds on what one turn may ask for. Pure, since each engine holds them where it sees the commands. */
import type { Command } from './command.js';
import type { Limits } from './limits.js';

export type TurnLimits = Pick<Limits, 'payloadBytes' | 'pendingPerRun' | 'childDepth'>;

export interface RunExtent {
  /** Steps, timers and children that the run waits for. */
  pending: number;
  /** How many parents above each other the run has. */
  depth: number;
}

/** The bound that the commands of a turn would break, in words, or undefined. A run that breaks one fails, typed. */
export function brokenLimit(
  run: RunExtent,
  commands: readonly Command[],
  limits: TurnLimits,
): string | undefined {
  let { pending } = run;
  for (const command of commands) {
    switch (command.kind) {
      case 'startChild':
        if (run.depth >= limits.childDepth) {
          return `children would be nested deeper than ${limits.childDepth} levels`;
        }
        pending++;
        break;
      case 'scheduleStep':
      case 'startTimer':
        pending++;
        break;
      case 'cancelTimer':
        pending--;
        break;
      default:
    }
    const bytes = payloadBytes(command);
    if (bytes > limits.payloadBytes) {
      return `a payload of ${bytes} bytes (${command.kind}) is over the limit of ${limits.payloadBytes} bytes`;
    }
  }
  if (pending > limits.pendingPerRun) {
    return `the run would wait for ${pending} steps, timers and children at a time; the limit is ${limits.pendingPerRun}`;
  }
  return undefined;
}

const encoder = new TextEncoder();

function payloadBytes(command: Command): number {
  let texts: readonly (string | undefined)[];
  switch (command.kind) {
    case 'scheduleStep':
    case 'startChild':
    case 'signalExternal':
    case 'continueAsNew':
      texts = command.input;
      break;
    case 'completeUpdate':
    case 'completeRun':
      texts = [command.result];
      break;
    default:
      return 0;
  }
  let bytes = 0;
  for (const text of texts) {
    // A UTF-16 unit is at most three bytes of UTF-8, so short texts need no exact count.
    if (text !== undefined) bytes += text.length * 3 < 64 * 1024 ? text.length : encoder.encode(text).length;
  }
  return bytes;
}
