/**
 * The history of one run in this tab: read once from its stream, and followed while the run is open.
 *
 * 1. A stream goes on after the last event that is here, so no event comes twice and none is left out.
 * 2. Every stream is opened with a ticket of its own where the server has a token: the token itself never stands in an
 *    address.
 * 3. A connection can be dead without a word, after a sleep or behind a proxy, and a browser hides the signs of life that the
 *    server sends: when events that are there do not come, another stream is opened.
 * 4. A tab that nobody sees holds no connection: a browser has six of them for a server, for all of its tabs.
 */
import type { HistoryEvent } from 'perdure/client';
import { apiUrl, client } from '../app/api.js';
import { apiSegment } from '../app/ids.js';
import { admission, currentToken } from '../app/session.js';
import { Store } from '../app/store.js';
import { emptyModel, type Model, take } from './model.js';

/** How soon a stream that broke is opened again. */
const AGAIN_MS = 1_500;
/** How long a stream may bring nothing of what the server is known to have. */
const SILENT_MS = 8_000;
/** What has come is shown this often at most; a browser can draw more often than a person can follow. */
const SHOW_MS = 80;

export interface Shown {
  events: readonly HistoryEvent[];
  model: Model;
  /** Changes with every event. */
  version: number;
  /** How many there are, as the server said last. */
  expected: number;
  isComplete: boolean;
  error: unknown;
}

export class RunHistory {
  readonly #events: HistoryEvent[] = [];
  readonly #model = emptyModel();
  #source: EventSource | undefined;
  #again: ReturnType<typeof setTimeout> | undefined;
  #silent: ReturnType<typeof setTimeout> | undefined;
  #showing: ReturnType<typeof setTimeout> | undefined;
  #expected = 0;
  #error: unknown;
  /** After all that it shows. */
  readonly shown = new Store<Shown>(this.#snapshot(0));
  #isStopped = false;

  constructor(
    private readonly workflowId: string,
    private readonly runId: string,
  ) {}

  start(): void {
    this.#isStopped = false;
    document.addEventListener('visibilitychange', this.#onVisible);
    void this.#open();
  }

  stop(): void {
    this.#isStopped = true;
    document.removeEventListener('visibilitychange', this.#onVisible);
    this.#close();
    clearTimeout(this.#showing);
    this.#showing = undefined;
  }

  /** So many there are, as the server says elsewhere. */
  expect(length: number): void {
    if (length <= this.#expected) return;
    this.#expected = length;
    this.#show();
    this.#watch();
  }

  #watch(): void {
    clearTimeout(this.#silent);
    if (this.#source === undefined || this.#events.length >= this.#expected) return;
    this.#silent = setTimeout(() => void this.#open(), SILENT_MS);
  }

  readonly #onVisible = () => {
    if (document.hidden) this.#close();
    else if (!this.#source) void this.#open();
  };

  #close(): void {
    clearTimeout(this.#again);
    clearTimeout(this.#silent);
    this.#source?.close();
    this.#source = undefined;
  }

  async #open(): Promise<void> {
    this.#close();
    if (this.#isStopped || document.hidden || this.#model.isClosed) return;
    if (admission.value !== 'open') return this.#failed(this.#error);
    const query = new URLSearchParams();
    if (this.#events.length > 0) query.set('lastEventId', this.#events.at(-1)!.eventId);
    try {
      if (currentToken() !== undefined) {
        query.set('ticket', (await client.handle(this.workflowId).streamTicket()).ticket);
      }
    } catch (error) {
      this.#failed(error);
      return;
    }
    if (this.#isStopped || document.hidden || this.#source) return;
    const path = `/workflow/${apiSegment(this.workflowId)}/runs/${this.runId}/history/stream`;
    const source = new EventSource(`${apiUrl}${path}?${query}`);
    this.#source = source;
    this.#watch();
    source.addEventListener('workflow', ({ data }) => {
      this.#error = undefined;
      this.expect((JSON.parse(data) as { historyLength: number }).historyLength);
      this.#show();
    });
    source.addEventListener('history', ({ data }) => {
      this.#take(JSON.parse(data) as HistoryEvent[]);
      if (this.#model.isClosed) this.#close();
    });
    source.addEventListener('server_error', ({ data }) => {
      this.#failed(new Error((JSON.parse(data) as { message: string }).message));
    });
    // The browser would try again with the ticket that has been used.
    source.onerror = () => this.#source === source && this.#failed(undefined);
  }

  #failed(error: unknown): void {
    this.#close();
    if (this.#model.isClosed || this.#isStopped) return;
    this.#error = error;
    this.#show();
    this.#again = setTimeout(() => void this.#open(), AGAIN_MS);
  }

  #take(events: HistoryEvent[]): void {
    for (const event of events) {
      if (Number(event.eventId) !== this.#events.length + 1) continue;
      this.#events.push(event);
      take(this.#model, event);
    }
    this.#watch();
    this.#show();
  }

  #show(): void {
    this.#showing ??= setTimeout(() => {
      this.#showing = undefined;
      this.shown.set(this.#snapshot(this.#events.length));
    }, SHOW_MS);
  }

  #snapshot(version: number): Shown {
    return {
      events: this.#events,
      model: this.#model,
      version,
      expected: Math.max(this.#expected, version),
      isComplete: this.#model.isClosed,
      error: this.#error,
    };
  }
}
