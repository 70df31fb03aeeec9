/** What one check may cost, whatever the schema and the value are. */

/** The check was given up: how the value stands to the schema is not known. */
export class TooMuchWork extends Error {
  override readonly name = 'TooMuchWork';
}

export class Budget {
  constructor(private left: number) {}

  /** @throws TooMuchWork when the steps are more than what is left */
  spend(steps: number): void {
    this.left -= steps;
    if (this.left < 0) throw new TooMuchWork('the check takes too long');
  }
}
