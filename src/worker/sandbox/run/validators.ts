/**
 * Which validators have no end. Where a turn that takes too long is cut off and its sandbox goes on, nothing of the turn is
 * left to tell by; the update comes again with the next one, which would end the same way, and so would all that follow.
 */

/** More are not remembered: they are found out again. */
const MAX_KNOWN = 1_000;

export class Validators {
  #current: string | undefined;
  readonly #endless = new Set<string>();

  /** Whoever is still being asked was cut off. */
  turnBegins(): void {
    if (this.#current === undefined) return;
    if (this.#endless.size >= MAX_KNOWN) this.#endless.clear();
    this.#endless.add(this.#current);
    this.#current = undefined;
  }

  isEndless(updateId: string): boolean {
    return this.#endless.has(updateId);
  }

  ask<T>(updateId: string, validator: () => T): T {
    this.#current = updateId;
    try {
      return validator();
    } finally {
      // Code that is cut off does not get here.
      this.#current = undefined;
    }
  }
}
