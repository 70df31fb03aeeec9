/**
 * The key that tokens of callbacks are signed with. It is made when the first worker comes and kept with the runs, so that
 * addresses which were given out stay good over restarts, and wherever a copy of the database is taken up.
 */
import type { Ids } from '../../core/values/id.js';
import type { GroupCommit } from './group-commit.js';
import type { Tables } from './tables/tables.js';

const NAME = 'callbacks';

export class CallbackKey {
  #key: string | undefined;

  constructor(
    private readonly tables: Tables,
    private readonly commit: GroupCommit,
    private readonly ids: Ids,
  ) {
    this.#key = tables.registrations.secret(NAME);
  }

  /** Undefined as long as no worker could have made a token. */
  get known(): string | undefined {
    return this.#key;
  }

  /** It goes to disk before, or together with, anything that a worker does with it. */
  get(): string {
    if (this.#key === undefined) {
      const key = this.ids.newSecret();
      this.#key = key;
      this.commit.write(() => this.tables.registrations.saveSecret(NAME, key));
    }
    return this.#key;
  }
}
