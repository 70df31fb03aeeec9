/**
 * The frames of a stream as bytes.
 *
 * 1. A frame's data is one line of JSON, so nothing that a payload holds can end the line or pose as a field. The
 *    characters that some clients take for line ends although the format does not are escaped as well.
 * 2. A batch is encoded at most once per form, whoever asks, and only as far as somebody asks: a frame holds some
 *    events and not many bytes, so that a slow reader has little on its way to it.
 */

import type { PerdureError } from '../../core/errors.js';
import type { HistoryEvent } from '../../core/history/event.js';
import { type NamedSteps, wireEvent } from '../wire/events.js';

/** What the stream of one reader looks like. */
export interface Form {
  includePayloads: boolean;
  /** Whether ids name the run: on the route that does not. */
  hasRunInIds: boolean;
  /** Whether it also tells what the run spends. */
  costs?: boolean;
}

export interface Frame {
  /** The last event before it, and the last one in it. */
  after: number;
  last: number;
  bytes: Buffer;
}

/** From this size on a frame is closed; one event is in one frame, however large it is. */
const FRAME_BYTES = 64 * 1024;

/** Some consecutive events of a run, with the frames that carry them. */
export class Batch {
  readonly after: number;
  readonly last: number;
  readonly #frames: Frame[][] = [[], [], [], []];

  constructor(
    private readonly runId: string,
    private readonly events: readonly HistoryEvent[],
    private readonly steps: NamedSteps,
  ) {
    this.after = events[0]!.id - 1;
    this.last = events.at(-1)!.id;
  }

  /** Whether the event after `cursor` is in this batch. */
  holds(cursor: number): boolean {
    return cursor >= this.after && cursor < this.last;
  }

  /** The frame that goes on after event `cursor`; undefined when that is not in this batch. */
  frameAfter(cursor: number, form: Form): Frame | undefined {
    if (!this.holds(cursor)) return undefined;
    const frames = this.#frames[(form.includePayloads ? 2 : 0) + (form.hasRunInIds ? 1 : 0)]!;
    for (let frame = frames.at(-1); frame === undefined || frame.last <= cursor; frame = frames.at(-1)) {
      frames.push(this.#encode(frame?.last ?? this.after, form));
    }
    const frame = frames.find(({ last }) => last > cursor)!;
    // Whoever stands in the middle of a shared frame gets the rest of it, and shares the next one.
    return frame.after === cursor ? frame : this.#encode(cursor, form, frame.last);
  }

  #encode(after: number, { includePayloads, hasRunInIds }: Form, end = this.last): Frame {
    const texts: string[] = [];
    let length = 0;
    let last = after;
    for (let i = after - this.after; last < end && length < FRAME_BYTES; i++) {
      const text = singleLine(wireEvent(this.events[i]!, { includePayloads, steps: this.steps }));
      texts.push(text);
      length += text.length;
      last = this.events[i]!.id;
    }
    const id = hasRunInIds ? `${this.runId}/${last}` : String(last);
    return { after, last, bytes: Buffer.from(`id: ${id}\nevent: history\ndata: [${texts.join(',')}]\n\n`) };
  }
}

export function workflowFrame(metadata: object): string {
  return `event: workflow\ndata: ${singleLine(metadata)}\n\n`;
}

export function doneFrame(terminal: HistoryEvent): string {
  const { type: reason, attributes } = terminal;
  const newRunId = 'newExecutionRunId' in attributes ? attributes.newExecutionRunId : undefined;
  return `event: done\ndata: ${singleLine({ reason, newRunId })}\n\n`;
}

/** Without an id: it does not move the point that a reader resumes from. */
export function costFrame(costs: object): string {
  return `event: cost\ndata: ${singleLine(costs)}\n\n`;
}

export function errorFrame({ name, message }: PerdureError, workflowId: string, runId: string): string {
  return `event: server_error\ndata: ${singleLine({ error: name, message, workflowId, runId })}\n\n`;
}

export const KEEPALIVE_FRAME = ': keepalive\n\n';

function singleLine(value: object): string {
  return JSON.stringify(value).replace(
    /[\u0085\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
