/** The body of an answer that is taken as it comes, no faster than the caller wants it. */
import { bounded, whenAborted } from './bounded.js';
import { ConnectionError } from './errors.js';

/** The server sends a sign of life every 15 s; after three that did not come the connection is taken for dead. */
const SILENCE_MS = 45_000;

export class Body {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;

  constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader();
  }

  /** The next piece, or undefined at the end. @throws ConnectionError, or the reason of the signal */
  async read(signal: AbortSignal | undefined): Promise<Uint8Array | undefined> {
    const expired = () => new ConnectionError(`The stream was silent for ${SILENCE_MS} ms`, false, undefined);
    try {
      const { value } = await bounded({ signal, ms: SILENCE_MS, expired }, (either) =>
        Promise.race([this.#reader.read(), whenAborted(either)]),
      );
      return value;
    } catch (error) {
      throw error instanceof ConnectionError || signal?.aborted
        ? error
        : new ConnectionError('The stream broke off', false, error);
    }
  }

  /** Closes the connection, whatever is still to come. */
  close(): void {
    this.#reader.cancel().catch(() => {});
  }
}
