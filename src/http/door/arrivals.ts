/**
 * The order in which calls for one workflow came. What has to be looked up before a message can be handed to the engine
 * takes a while, and of two messages the later one may be done first; they are handed over in order all the same.
 */
export class Arrivals {
  private readonly last = new Map<string, Promise<void>>();

  /** Calls `hand` with what `prepare` gives, when everything that came before for the same workflow was handed over. */
  async inOrder<P, T>(
    workflowId: string,
    prepare: () => Promise<P>,
    hand: (prepared: P) => Promise<T>,
  ): Promise<T> {
    const before = this.last.get(workflowId);
    let leave!: () => void;
    const handedOver = new Promise<void>((resolve) => {
      leave = resolve;
    });
    const over = before ? before.then(() => handedOver) : handedOver;
    this.last.set(workflowId, over);
    void over.then(() => {
      if (this.last.get(workflowId) === over) this.last.delete(workflowId);
    });
    let answer: Promise<T>;
    try {
      const prepared = await prepare();
      await before;
      // Not awaited here: those behind it need only that it was handed over.
      answer = hand(prepared);
    } finally {
      leave();
    }
    return answer;
  }
}
