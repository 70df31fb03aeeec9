/**
 * Collects what is sent within one turn of the event loop, so that it leaves as one frame.
 *
 * `setImmediate` runs after everything that the current round of I/O caused, microtasks included: messages caused
 * by different sockets and by steps that end at once still share a frame, and none waits for a timer.
 */
import { setImmediate } from 'node:timers';

export class Outbox<Message extends object> {
  #waiting: Message[] = [];
  #scheduled = false;

  constructor(
    private readonly deliver: (messages: Message[]) => void,
    /** So many messages leave without waiting for the rest, which lets both sides work at the same time. */
    private readonly full = 64,
  ) {}

  add(message: Message): void {
    this.#waiting.push(message);
    if (this.#waiting.length >= this.full) this.flush();
    else if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(this.#onImmediate);
    }
  }

  flush(): void {
    if (this.#waiting.length === 0) return;
    const messages = this.#waiting;
    this.#waiting = [];
    this.deliver(messages);
  }

  clear(): void {
    this.#waiting = [];
  }

  readonly #onImmediate = () => {
    this.#scheduled = false;
    this.flush();
  };
}
