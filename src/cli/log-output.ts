/**
 * Where the lines of a log go. Whoever reads them may be slow, stop for good or be gone: a collector that hangs, a pager, a
 * terminal that Ctrl-S has paused, a full disk. The service does not wait for them.
 *
 * 1. What cannot be written is kept up to a bound, and tried again. What is beyond the bound is lost, which is told once
 *    lines can be written again.
 * 2. What can be written is written at once, so that the last words of a process that ends are not lost.
 */
import { constants, fstatSync, openSync, writeSync } from 'node:fs';

const MOST_KEPT_BYTES = 1_000_000;
const TRY_AGAIN_MS = { first: 10, most: 500 };
/** What a reader that is only slow gets at the end of the process, to take what is left. */
const LAST_WORDS_MS = 1_000;

/** Nobody changes it: whoever waits for that waits for its time to be over. */
const NEVER = new Int32Array(new SharedArrayBuffer(4));

export class LogOutput {
  readonly #fd: number;
  readonly #onLoss: (lines: number) => void;
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #lostLines = 0;
  #nextTry: NodeJS.Timeout | undefined;
  #waitMs = TRY_AGAIN_MS.first;

  /** `onLoss` is called with the number of lines that were lost. */
  constructor(stream: NodeJS.WriteStream & { fd: number }, onLoss: (lines: number) => void) {
    this.#fd = unblocked(stream);
    this.#onLoss = onLoss;
    process.on('exit', () => this.#sayLastWords());
  }

  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#keptBytes > 0 && this.#keptBytes + bytes.length > MOST_KEPT_BYTES) {
      this.#lostLines++;
      return;
    }
    this.#kept.push(bytes);
    this.#keptBytes += bytes.length;
    if (this.#nextTry === undefined) this.#flush();
  }

  #flush(): void {
    if (this.#tryToWrite() === 'done') {
      this.#waitMs = TRY_AGAIN_MS.first;
      const lines = this.#lostLines;
      this.#lostLines = 0;
      if (lines > 0) this.#onLoss(lines);
      return;
    }
    this.#nextTry = setTimeout(() => {
      this.#nextTry = undefined;
      this.#flush();
    }, this.#waitMs).unref();
    this.#waitMs = Math.min(2 * this.#waitMs, TRY_AGAIN_MS.most);
  }

  #tryToWrite(): 'done' | 'full' | 'failed' {
    let rest = this.#kept.length === 1 ? this.#kept[0]! : Buffer.concat(this.#kept);
    try {
      while (rest.length > 0) {
        rest = rest.subarray(writeSync(this.#fd, rest));
        this.#waitMs = TRY_AGAIN_MS.first;
      }
      return 'done';
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'EAGAIN' ? 'full' : 'failed';
    } finally {
      this.#kept = rest.length > 0 ? [rest] : [];
      this.#keptBytes = rest.length;
    }
  }

  #sayLastWords(): void {
    const until = performance.now() + LAST_WORDS_MS;
    this.#drain(until);
    if (this.#keptBytes > 0 || this.#lostLines === 0) return;
    const lines = this.#lostLines;
    this.#lostLines = 0;
    this.#onLoss(lines);
    this.#drain(until);
  }

  #drain(until: number): void {
    while (this.#keptBytes > 0 && this.#tryToWrite() === 'full' && performance.now() < until) {
      Atomics.wait(NEVER, 0, 0, TRY_AGAIN_MS.first);
    }
  }
}

/** A descriptor of the same output on which a write that would have to wait fails instead. */
function unblocked(stream: NodeJS.WriteStream & { fd: number }): number {
  // Node makes pipes and sockets so as soon as somebody asks for the stream, and files never wait. But whoever else writes to the
  // same pipe may make it wait again, as every program of Node does at its end.
  if (!stream.isTTY && !fstatSync(stream.fd).isFIFO()) return stream.fd;
  try {
    return openSync(`/dev/fd/${stream.fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return stream.fd;
  }
}
