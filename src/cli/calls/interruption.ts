/** Ctrl-C while something goes on that does not end with this program: it is told, in place of dying in the middle. */
export class Interruption {
  readonly #controller = new AbortController();
  readonly #interrupt = () => this.#controller.abort();

  constructor() {
    process.on('SIGINT', this.#interrupt);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isThere(): boolean {
    return this.signal.aborted;
  }

  end(): void {
    process.off('SIGINT', this.#interrupt);
  }
}
