/**
 * The history of a run as it grows, over one stream after the other.
 *
 * 1. No event twice and none lost: a stream goes on after the last batch that was taken in full, and what was broken
 *    off is read again from its beginning.
 * 2. Nothing is read ahead of the caller: while it is busy the socket fills, and the server waits.
 * 3. However the caller leaves, the connection is closed.
 */
import { ERROR_STATUS, type ErrorName } from '../core/errors.js';
import { Body } from './body.js';
import {
  afterSending,
  apiError,
  ConnectionError,
  type ErrorBody,
  isErrorBody,
  UnexpectedAnswerError,
} from './errors.js';
import { type Frame, frames } from './event-stream.js';
import { type Call, mayRepeat, type Transport } from './transport.js';
import type { HistoryEvent } from './wire.js';

export interface Following {
  /** The path of the stream. */
  path: string;
  /** The run that the path names; undefined where the stream follows the workflow over its runs. */
  pinnedRunId: string | undefined;
  /** The id of the last event that the caller has, to go on after it. */
  lastEventId: string | undefined;
  includePayloads: boolean | undefined;
  signal: AbortSignal | undefined;
}

/** An event, with the run that it belongs to. */
export type RunEvent = HistoryEvent & { runId: string };

export async function* follow(
  transport: Transport,
  { path, pinnedRunId, lastEventId, includePayloads, signal }: Following,
): AsyncGenerator<RunEvent, void, void> {
  const patience = transport.patience(signal);
  const position = new Position(pinnedRunId, lastEventId);
  let isUnsent = true;
  for (;;) {
    const call: Call = {
      method: 'GET',
      path,
      query: { includePayloads },
      headers: { accept: 'text/event-stream', ...position.header },
      isRepeatable: true,
    };
    let stream: Body | undefined;
    let openedAt: number | undefined;
    try {
      signal?.throwIfAborted();
      stream = await transport.exchange(call, signal, open);
      openedAt = performance.now();
      isUnsent = false;
      let isEmpty = true;
      if (stream) {
        for await (const frame of frames(textOf(stream, signal))) {
          if (frame.event === 'server_error') throw serverError(frame);
          if (frame.event !== 'history') continue;
          for (const event of position.take(frame)) {
            // Only with what is new, or a stream that always breaks after the same would be asked for without end.
            patience.restore();
            isEmpty = false;
            yield event;
          }
          if (position.isEnd) return;
        }
      }
      // The last event of a run says whether another one goes on in its place, which a server may not know of yet.
      else if (!position.hasSuccessor) return;
      // A server that stops ends its streams; the run goes on elsewhere, or when it is back.
      if (!position.hasSuccessor || isEmpty)
        throw new ConnectionError('The stream ended before the run did', false, undefined);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      const told = isUnsent ? error : afterSending(error);
      if (!mayRepeat(call, error)) throw told;
      isUnsent &&= error instanceof ConnectionError && error.isUnsent;
      if (openedAt !== undefined) patience.restoreAfter(performance.now() - openedAt);
      await patience.wait(told);
    } finally {
      stream?.close();
    }
  }
}

/** What the caller has. */
class Position {
  #runId: string | undefined;
  #eventId: string | undefined;
  /** Nothing comes after the last event. */
  isEnd = false;
  /** The last event names a run that goes on in place of its own. */
  hasSuccessor = false;

  constructor(
    private readonly pinnedRunId: string | undefined,
    lastEventId: string | undefined,
  ) {
    const parts = lastEventId?.split('/');
    this.#eventId = parts?.pop();
    this.#runId = pinnedRunId ?? parts?.[0];
  }

  get header(): Record<string, string> {
    if (this.#eventId === undefined) return {};
    const run = this.pinnedRunId === undefined && this.#runId !== undefined ? `${this.#runId}/` : '';
    return { 'last-event-id': run + this.#eventId };
  }

  *take({ id, data }: Frame): Generator<RunEvent, void, void> {
    const events = json<HistoryEvent[]>(data, Array.isArray);
    const runId = this.pinnedRunId ?? id?.split('/')[0] ?? '';
    const seen = this.#runId === undefined || this.#runId === runId ? Number(this.#eventId ?? 0) : 0;
    for (const event of events) {
      if (Number(event.eventId) <= seen) continue;
      this.#runId = runId;
      this.#eventId = event.eventId;
      const isClosing = CLOSING.test(event.eventTypeName);
      this.hasSuccessor = isClosing && this.pinnedRunId === undefined && namesSuccessor(event);
      this.isEnd = isClosing && !this.hasSuccessor;
      yield { ...event, runId };
    }
  }
}

const CLOSING = /^WORKFLOW_EXECUTION_(COMPLETED|FAILED|TIMED_OUT|CANCELED|TERMINATED|CONTINUED_AS_NEW)$/;

const namesSuccessor = (event: HistoryEvent): boolean =>
  Object.values(event).some((value) => Boolean((value as { newExecutionRunId?: string })?.newExecutionRunId));

function textOf(stream: Body, signal: AbortSignal | undefined): () => Promise<string | undefined> {
  const decoder = new TextDecoder();
  return async () => {
    const bytes = await stream.read(signal);
    return bytes && decoder.decode(bytes, { stream: true });
  };
}

/** Undefined where the reader has all of a run that is closed. */
async function open(response: Response): Promise<Body | undefined> {
  if (response.status === 204) return undefined;
  const type = response.headers.get('content-type') ?? 'nothing';
  if (!response.body || !type.startsWith('text/event-stream')) {
    await response.body?.cancel();
    throw new UnexpectedAnswerError(`The server answered with ${type} in place of a stream`, {
      status: response.status,
    });
  }
  return new Body(response.body);
}

function serverError({ data }: Frame): Error {
  const body = json<ErrorBody>(data, isErrorBody);
  return apiError(body, { status: ERROR_STATUS[body.error as ErrorName] ?? 500 });
}

function json<T>(data: string, isOurs: (value: unknown) => boolean): T {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {}
  if (isOurs(value)) return value as T;
  throw new UnexpectedAnswerError('The stream has something that is not of this API', { status: 200 });
}
