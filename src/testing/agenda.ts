/** What is to happen, in the order of its instants: the heart of every clock that tests move by hand. */

/** Whoever has things on an agenda: when it ends, none of them happens any more. */
export class Owner {
  isAlive = true;
}

interface Entry {
  at: number;
  /** Decides between entries of the same instant; then the one that was added first goes first. */
  rank: number;
  seq: number;
  action: () => void;
  owner: Owner;
}

export class Agenda {
  readonly #heap: Entry[] = [];
  #seq = 0;

  add(at: number, owner: Owner, action: () => void, rank = 0): { cancel(): void } {
    const entry: Entry = { at, rank, seq: this.#seq++, action, owner };
    this.#push(entry);
    return {
      cancel: () => {
        entry.action = nothing;
      },
    };
  }

  /** The instant of what happens next; undefined when nothing does. */
  get nextAt(): number | undefined {
    return this.#first()?.at;
  }

  /** Takes what happens next, if its instant is not after `until`. */
  take(until: number): { at: number; action: () => void } | undefined {
    const entry = this.#first();
    if (!entry || entry.at > until) return undefined;
    this.#pop();
    return entry;
  }

  /** What was cancelled, or whose owner has ended, is dropped on the way. */
  #first(): Entry | undefined {
    for (;;) {
      const entry = this.#heap[0];
      if (!entry || (entry.owner.isAlive && entry.action !== nothing)) return entry;
      this.#pop();
    }
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!isBefore(entry, heap[above]!)) break;
      heap[at] = heap[above]!;
      at = above;
    }
    heap[at] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let below = at * 2 + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below++;
      if (!isBefore(heap[below]!, last)) break;
      heap[at] = heap[below]!;
      at = below;
    }
    heap[at] = last;
  }
}

const nothing = () => {};

function isBefore(one: Entry, other: Entry): boolean {
  if (one.at !== other.at) return one.at < other.at;
  return one.rank === other.rank ? one.seq < other.seq : one.rank < other.rank;
}
