/** The bounds on what one turn may ask for. Pure, since each engine holds them where it sees the commands. */

import type { Command } from '../history/command.js';
import type { Failure } from '../history/failure.js';
import { utf8Bytes } from '../values/bytes.js';
import type { Limits } from './limits.js';

export type TurnLimits = Pick<Limits, 'payloadBytes' | 'turnBytes' | 'pendingPerRun' | 'childDepth'> &
  Partial<Pick<Limits, 'openDescendants' | 'childStartsPerMinute'>>;

export interface RunExtent {
  /** Steps, timers and children that the run waits for. */
  pending: number;
  /** How many parents above each other the run has. */
  depth: number;
  /** Open descendants of the workflow at the root of its tree, where the engine counts them. */
  descendants?: number;
  /** How many of them were started in this minute. */
  childStarts?: number;
}

/** The bound that the commands of a turn would break, in words, or undefined. A run that breaks one fails, typed. */
export function brokenLimit(
  run: RunExtent,
  commands: readonly Command[],
  limits: TurnLimits,
): string | undefined {
  let { pending, descendants = 0, childStarts = 0 } = run;
  const { openDescendants = Number.POSITIVE_INFINITY, childStartsPerMinute = Number.POSITIVE_INFINITY } =
    limits;
  for (const command of commands) {
    switch (command.kind) {
      case 'startChild':
        if (run.depth >= limits.childDepth) {
          return `children would be nested deeper than ${limits.childDepth} levels`;
        }
        if (++descendants > openDescendants) {
          return `the workflow at the root of this run's parents would have ${descendants} open descendants; the limit is ${openDescendants}`;
        }
        if (++childStarts > childStartsPerMinute) {
          return `the workflow at the root of this run's parents would have started ${childStarts} descendants within a minute; the limit is ${childStartsPerMinute}`;
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
    // A UTF-16 unit is at most three bytes of UTF-8, so nearly always nothing has to be counted exactly.
    const bytes = unitsOf(command) * 3 > limits.payloadBytes ? bytesOf(payloadsOf(command)) : 0;
    if (bytes > limits.payloadBytes) {
      return `a payload of ${bytes} bytes (${command.kind}) is over the limit of ${limits.payloadBytes} bytes`;
    }
  }
  const tooMuch = brokenTurnBytes(commands, limits);
  if (tooMuch !== undefined) return tooMuch;
  if (pending > limits.pendingPerRun) {
    return `the run would wait for ${pending} steps, timers and children at a time; the limit is ${limits.pendingPerRun}`;
  }
  return undefined;
}

/** For whoever has to send the commands before anybody can hold the other bounds: words for what is beyond, or undefined. */
export function brokenTurnBytes(
  commands: readonly Command[],
  { turnBytes }: Pick<TurnLimits, 'turnBytes'>,
): string | undefined {
  let atMost = 0;
  for (const command of commands) {
    atMost += (unitsOf(command) + failureTextOf(command).length) * 3 + ENVELOPE_BYTES;
  }
  if (atMost <= turnBytes) return undefined;
  let bytes = 0;
  for (const command of commands) {
    bytes += bytesOf([...payloadsOf(command), failureTextOf(command)]) + ENVELOPE_BYTES;
  }
  return bytes > turnBytes ? beyondTurnBytes(bytes, turnBytes) : undefined;
}

const beyondTurnBytes = (bytes: number, limit: number): string =>
  `what one turn asks for has ${bytes} bytes and is over the limit of ${limit} bytes in all. Ask for less at a time, or let steps pass large values by reference`;

/** Of a run that breaks a bound. */
export const limitFailure = (message: string): Failure => ({
  kind: 'application',
  type: 'LimitExceededError',
  message,
  nonRetryable: true,
});

function payloadsOf(command: Command): readonly (string | undefined)[] {
  switch (command.kind) {
    case 'scheduleStep':
    case 'startChild':
    case 'signalExternal':
    case 'continueAsNew':
      return command.input;
    case 'completeUpdate':
    case 'completeRun':
      return [command.result];
    default:
      return NONE;
  }
}

const NONE: readonly string[] = [];

/** No payload of its own, but it travels with the rest. */
function failureTextOf(command: Command): string {
  return 'failure' in command && command.failure ? JSON.stringify(command.failure) : '';
}

/** Names, ids and settings around a payload; they are short. */
const ENVELOPE_BYTES = 512;

function unitsOf(command: Command): number {
  let units = 0;
  for (const text of payloadsOf(command)) if (text !== undefined) units += text.length;
  return units;
}

function bytesOf(texts: readonly (string | undefined)[]): number {
  let bytes = 0;
  for (const text of texts) if (text !== undefined) bytes += utf8Bytes(text);
  return bytes;
}
