/** Where an engine keeps its database in place of a data folder: in the memory of this process (in-memory.ts). */
export class InMemory {
  /** `image`: what an engine had committed (`EmbeddedEngine.image`), to go on from as after a crash. */
  constructor(readonly image?: Buffer) {}

  toString(): string {
    return 'the database in memory';
  }
}
