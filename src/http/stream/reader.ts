/**
 * One open stream: brings its reader from where it stands to the end of the run.
 *
 * 1. Nothing is queued for a reader whose socket is full: at most one frame beyond what the socket takes is on its
 *    way. What comes meanwhile is read again once the reader has caught its breath.
 * 2. A reader that takes nothing for `stallMs` is dropped; it can resume where it was.
 * 3. When the reader is gone, for whatever reason, everything held for it is let go at once.
 */
import type { ServerResponse } from 'node:http';
import type { HistoryEvent } from '../../core/history/event.js';
import type { NamedSteps } from '../wire/events.js';
import { COST_LOOK_MS, type CostFeed } from './costs.js';
import { doneFrame, type Form, KEEPALIVE_FRAME } from './frames.js';
import type { PastPage } from './past.js';
import type { Follower, Tail } from './tail.js';

/** Pages of a reader that catches up grow from the one to the other while it takes all of them. */
const FIRST_PAGE_EVENTS = 16;
const MAX_PAGE_EVENTS = 256;

export interface ReaderOptions {
  cursor: number;
  form: Form;
  tail: Tail;
  /** Where the reader wants to know what the run spends. */
  costs?: CostFeed;
  response: ServerResponse;
  keepaliveMs: number;
  stallMs: number;
  /** What the reader is told of an error before its stream ends. */
  describeError: (error: unknown) => string;
  onEnd: () => void;
}

export class Reader implements Follower {
  cursor: number;
  readonly #keepalive: NodeJS.Timeout;
  #costLook: NodeJS.Timeout | undefined;
  #isLooking = false;
  #isEnding = false;
  #stall: NodeJS.Timeout | undefined;
  #pageEvents = FIRST_PAGE_EVENTS;
  #steps: NamedSteps = new Map();
  #isFull = false;
  #whenFree: (() => void) | undefined;
  #isCatchingUp = false;
  #isOver = false;

  constructor(private readonly options: ReaderOptions) {
    const { response, keepaliveMs, cursor, tail } = options;
    this.cursor = cursor;
    response.on('drain', () => this.#drained());
    response.once('close', () => this.#closed());
    // What breaks the connection also closes it.
    response.on('error', () => {});
    this.#keepalive = setInterval(() => {
      if (!this.#isFull) this.#write(KEEPALIVE_FRAME);
    }, keepaliveMs);
    if (options.costs) this.#costLook = setInterval(() => void this.#tellCosts(), COST_LOOK_MS);
    tail.join(this);
  }

  /** Sends what comes before the events, and then those. */
  start(opening: string): void {
    this.#write(opening);
    void this.#tellCosts();
    this.wake();
  }

  wake(): void {
    const { tail, form } = this.options;
    while (!this.#isOver && !this.#isFull && !this.#isCatchingUp && !this.#isEnding) {
      if (this.cursor >= tail.position) {
        if (tail.terminal) this.#done(tail.terminal);
        else if (tail.failure !== undefined) this.#finish(this.options.describeError(tail.failure));
        return;
      }
      const frame = tail.latest?.frameAfter(this.cursor, form);
      if (frame) {
        this.cursor = frame.last;
        this.#write(frame.bytes);
      } else void this.#catchUp();
    }
  }

  /** Ends the stream; the reader may come back and go on. */
  end(): void {
    if (this.#isFull) this.options.response.destroy();
    else this.#finish('');
  }

  /** One page that the tail does not have any more. */
  async #catchUp(): Promise<void> {
    const { past, slices } = this.options.tail;
    this.#isCatchingUp = true;
    past.enter();
    try {
      // Reading, writing down and handing over can all be done without waiting for anything: a long history would keep
      // everybody else waiting until its end.
      await slices.wait();
      if (!this.#isOver && !this.#isFull) {
        const page = await past.pageAfter(this.cursor, this.#pageEvents, this.#steps);
        if (!this.#isOver) this.#sendPage(page);
      }
    } catch (error) {
      this.#finish(this.options.describeError(error));
    }
    this.#isCatchingUp = false;
    this.wake();
    past.leave();
  }

  #sendPage({ batch, terminal }: PastPage): void {
    const { form, tail } = this.options;
    const before = this.cursor;
    while (!this.#isFull && this.cursor < batch.last) {
      const frame = batch.frameAfter(this.cursor, form)!;
      this.cursor = frame.last;
      this.#write(frame.bytes);
    }
    if (this.cursor < batch.last) {
      // The rest is read again, in a page of about what went through.
      this.#pageEvents = Math.max(1, Math.min(MAX_PAGE_EVENTS, 2 * (this.cursor - before)));
    } else if (terminal) {
      this.#done(terminal);
    } else {
      this.#pageEvents = Math.min(MAX_PAGE_EVENTS, 2 * this.#pageEvents);
    }
    if (this.cursor >= tail.position || this.#steps.size > MAX_PAGE_EVENTS) this.#steps = new Map();
  }

  /** The run has ended: what it has spent comes before that, to the last. */
  #done(terminal: HistoryEvent): void {
    this.#isEnding = true;
    if (this.options.costs) void this.#tellCosts(true).then(() => this.#finish(doneFrame(terminal)));
    else this.#finish(doneFrame(terminal));
  }

  async #tellCosts(isLast = false): Promise<void> {
    const { costs } = this.options;
    // A reader that takes nothing gets it all with a later look.
    if (!costs || this.#isOver || (!isLast && (this.#isLooking || this.#isFull || this.#isEnding))) return;
    this.#isLooking = true;
    try {
      const spent = isLast || !costs.hasMore ? await costs.look(isLast) : undefined;
      await this.options.tail.slices.wait();
      if (spent) costs.take(spent);
      // One frame in a slice. Of costs that are not the last the rest goes on when the reader takes again.
      while (!this.#isOver) {
        if (this.#isFull && !isLast) break;
        if (this.#isFull) await this.#takesAgain();
        const frame = costs.next();
        if (frame === undefined) break;
        this.#write(frame);
        await this.options.tail.slices.wait();
      }
    } catch (error) {
      this.#finish(this.options.describeError(error));
    }
    this.#isLooking = false;
  }

  /** Or is gone. */
  #takesAgain(): Promise<void> {
    return new Promise((resolve) => {
      this.#whenFree = resolve;
    });
  }

  #write(bytes: Buffer | string): void {
    if (this.#isOver || this.options.response.write(bytes)) return;
    this.#isFull = true;
    this.#watchStall();
  }

  #drained(): void {
    this.#isFull = false;
    this.#whenFree?.();
    if (this.#isOver) return;
    clearTimeout(this.#stall);
    this.#stall = undefined;
    if (this.options.costs?.hasMore) void this.#tellCosts();
    void this.options.tail.slices.take().then(() => this.wake());
  }

  #watchStall(): void {
    this.#stall ??= setTimeout(() => this.options.response.destroy(), this.options.stallMs);
  }

  #finish(lastWords: string): void {
    if (this.#isOver) return;
    this.#leave();
    this.options.response.end(lastWords);
    // Also the end has to get through; `close` says that it did.
    this.#watchStall();
  }

  #leave(): void {
    this.#isOver = true;
    clearInterval(this.#keepalive);
    clearInterval(this.#costLook);
    this.options.tail.leave(this);
  }

  #closed(): void {
    if (!this.#isOver) this.#leave();
    this.#whenFree?.();
    clearTimeout(this.#stall);
    this.options.onEnd();
  }
}
