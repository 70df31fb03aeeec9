/**
 * The name of a turn that a worker has, as the cluster gives it out with the turn (`temporal.server.api.token.v1.Task`).
 * Temporal's core keeps it to itself; what it says can be asked of the cluster.
 */
import type { google } from '@temporalio/proto';
import { int } from '../translate/proto.js';

/** One that was tried before: its events are not in the history yet, and are the next two. */
export interface RepeatedTurn {
  namespaceId: string;
  workflowId: string;
  runId: string;
  attempt: number;
  startedTime: google.protobuf.ITimestamp | null | undefined;
  /** The last of the history. */
  lastEventId: number;
  /** Of that event: where a namespace lives on several clusters, it tells whose turn it is. */
  version: number;
}

export function turnToken(turn: RepeatedTurn): Buffer {
  const { seconds, nanos } = turn.startedTime ?? {};
  return Buffer.concat([
    bytes(1, Buffer.from(turn.namespaceId)),
    bytes(2, Buffer.from(turn.workflowId)),
    bytes(3, Buffer.from(turn.runId)),
    number(4, turn.lastEventId + 1),
    number(5, turn.attempt),
    number(10, turn.lastEventId + 2),
    number(11, turn.version),
    bytes(12, Buffer.concat([number(1, int(seconds)), number(2, nanos ?? 0)])),
  ]);
}

const number = (field: number, value: number): Buffer => Buffer.from([field << 3, ...varint(value)]);

const bytes = (field: number, value: Buffer): Buffer =>
  Buffer.concat([Buffer.from([(field << 3) | 2, ...varint(value.length)]), value]);

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value % 0x80) | 0x80, ...varint(Math.floor(value / 0x80))];
}
