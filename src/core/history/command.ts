/**
 * What a turn asks for. A turn is a pure function from history to commands; the engine turns each command
 * into the event of the same meaning, in the order given, and in one commit.
 *
 * `activityId`, `timerId`, `childSeq`, `signalSeq` and `cancelSeq` are numbers that the run counts up by itself, as
 * decimal strings, so the same code gives the same ids on every replay.
 */

import type { Payload } from '../values/json.js';
import type { ParentClosePolicy, StepSettings } from './event.js';
import type { Failure } from './failure.js';

export type Command =
  | { kind: 'scheduleStep'; activityId: string; stepName: string; input: Payload[]; settings: StepSettings }
  | { kind: 'cancelStep'; activityId: string }
  | { kind: 'startTimer'; timerId: string; durationMs: number }
  | { kind: 'cancelTimer'; timerId: string }
  | { kind: 'recordPatch'; patchId: string; deprecated: boolean }
  | {
      kind: 'startChild';
      childSeq: string;
      workflowId: string;
      workflowType: string;
      /** The parent's own catalog when absent. */
      catalog?: string;
      input: Payload[];
      parentClosePolicy: ParentClosePolicy;
    }
  | { kind: 'signalExternal'; signalSeq: string; workflowId: string; signalName: string; input: Payload[] }
  /** With `childSeq` the target is the own child of that number and `workflowId` is its id. */
  | { kind: 'cancelExternal'; cancelSeq: string; workflowId: string; childSeq?: string }
  | { kind: 'acceptUpdate'; updateId: string }
  /** Leaves nothing in the history. */
  | { kind: 'rejectUpdate'; updateId: string; reason: 'validator' | 'noHandler' | 'paused'; failure: Failure }
  | { kind: 'completeUpdate'; updateId: string; result?: Payload; failure?: Failure }
  | CloseCommand;

/** At most one per turn, and the last one. */
export type CloseCommand =
  | { kind: 'completeRun'; result?: Payload }
  /** `refusesInput`: the code has not begun, since the input does not fit its schema. */
  | { kind: 'failRun'; failure: Failure; refusesInput?: true }
  | { kind: 'cancelRun' }
  | { kind: 'continueAsNew'; workflowType: string; input: Payload[] };

export type CommandKind = Command['kind'];

export function isCloseCommand(command: Command): command is CloseCommand {
  switch (command.kind) {
    case 'completeRun':
    case 'failRun':
    case 'cancelRun':
    case 'continueAsNew':
      return true;
    default:
      return false;
  }
}
