/**
 * All open streams of the server. Owns their number, which run a cursor leads to, and their common end.
 *
 * The route that does not pin a run follows a workflow over its runs without losing an event: a cursor in a run that
 * has closed since goes on to that run's end, and a cursor at the end of a run leads to the one that came after it.
 */
import type { ServerResponse } from 'node:http';
import type { HttpLimits } from '../../core/bounds/limits.js';
import { PerdureError } from '../../core/errors.js';
import { CLOSE_EVENTS } from '../../core/history/event.js';
import type { Engine, RunDescription, RunSelector } from '../../engine.js';
import { workflowMetadata } from '../wire/events.js';
import { CostFeed, CostLooks } from './costs.js';
import { type Cursor, requireSameRun } from './cursor.js';
import { errorFrame, type Form, workflowFrame } from './frames.js';
import { Reader } from './reader.js';
import { Tails } from './tail.js';

export interface StreamRequest {
  /** With a run that the caller has pinned, in the path or the query. */
  selector: RunSelector;
  cursor: Cursor | undefined;
  form: Form;
}

/** Where a stream begins. */
export interface Beginning {
  run: RunDescription;
  eventId: number;
}

export class Streams {
  readonly #readers = new Set<Reader>();
  readonly #tails: Tails;
  readonly #costs: CostLooks;
  #count = 0;

  constructor(
    private readonly engine: Engine,
    private readonly limits: Pick<HttpLimits, 'streams' | 'streamKeepaliveMs' | 'streamStallMs'>,
  ) {
    this.#tails = new Tails(engine);
    this.#costs = new CostLooks(engine);
  }

  get open(): number {
    return this.#count;
  }

  /** Takes a place among the streams; every `enter` is followed by `leave`, or by `serve`, which leaves by itself. */
  enter(): void {
    if (this.#count >= this.limits.streams) {
      throw new PerdureError('TooManyRequestsError', `${this.limits.streams} streams are open already`);
    }
    this.#count++;
  }

  leave(): void {
    this.#count--;
  }

  /** Undefined when there is nothing more to stream. @throws WorkflowNotFoundError, InvalidLastEventIdError */
  async begin({ selector, cursor }: StreamRequest): Promise<Beginning | undefined> {
    if (selector.runId !== undefined) requireSameRun(cursor, selector.runId);
    if (selector.runId === undefined && cursor?.runId !== undefined) {
      return this.#follow(selector.workflowId, cursor.runId, cursor.eventId);
    }
    return unlessRead(await this.engine.describe(selector, { withInput: false }), cursor?.eventId ?? 0);
  }

  async #follow(workflowId: string, runId: string, eventId: number): Promise<Beginning | undefined> {
    const latest = await this.engine.describe({ workflowId }, { withInput: false });
    if (latest.runId === runId) return unlessRead(latest, eventId);
    // Retention may have removed the run; then what is there now is all there is to read.
    const run = await this.#known({ workflowId, runId });
    if (!run) return { run: latest, eventId: 0 };
    const unread = unlessRead(run, eventId);
    if (unread) return unread;
    const successor = await this.#successor(run);
    return { run: successor ?? latest, eventId: 0 };
  }

  /** The run that the closing event of `run` names. */
  async #successor({
    workflowId,
    runId,
    historyLength,
  }: RunDescription): Promise<RunDescription | undefined> {
    const { events } = await this.engine.history(
      { workflowId, runId },
      { afterEventId: historyLength - 1, limit: 1 },
    );
    const last = events[0];
    if (!last || !CLOSE_EVENTS.has(last.type) || !('newExecutionRunId' in last.attributes)) return undefined;
    const { newExecutionRunId } = last.attributes;
    return newExecutionRunId === undefined
      ? undefined
      : this.#known({ workflowId, runId: newExecutionRunId });
  }

  async #known(selector: RunSelector): Promise<RunDescription | undefined> {
    try {
      return await this.engine.describe(selector, { withInput: false });
    } catch (error) {
      if (error instanceof PerdureError && error.name === 'WorkflowNotFoundError') return undefined;
      throw error;
    }
  }

  /** Streams until the run or the connection ends. The head of the answer has been written. */
  serve(
    { run, eventId }: Beginning,
    form: Form,
    response: ServerResponse,
    toError: (error: unknown) => PerdureError,
  ): void {
    const { workflowId, runId, historyLength, status } = run;
    const { streamKeepaliveMs: keepaliveMs, streamStallMs: stallMs } = this.limits;
    const reader = new Reader({
      cursor: eventId,
      form,
      tail: this.#tails.of({ workflowId, runId }, { historyLength, isOpen: status === 'running' }),
      ...(form.costs && { costs: new CostFeed(this.#costs, { workflowId, runId }) }),
      response,
      keepaliveMs,
      stallMs,
      describeError: (error) => errorFrame(toError(error), workflowId, runId),
      onEnd: () => {
        this.#readers.delete(reader);
        this.leave();
      },
    });
    this.#readers.add(reader);
    reader.start(workflowFrame(workflowMetadata(run)));
  }

  /** Ends all of them; their readers come back, here or elsewhere, and go on where they were. */
  drain(): void {
    for (const reader of this.#readers) reader.end();
  }
}

/** A reader that has all events of a closed run gets nothing; of an open one it waits for more. */
function unlessRead(run: RunDescription, eventId: number): Beginning | undefined {
  return run.status !== 'running' && eventId >= run.historyLength ? undefined : { run, eventId };
}
