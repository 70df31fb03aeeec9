/**
 * What waits, in lanes: the next item comes from the lane that was served longest ago, so one lane with a hundred
 * thousand items delays another one by its share and not by its length. A lane is there only while something waits in it.
 * Within a lane what is urgent comes first.
 *
 * Items differ in what they need. Those whose need nobody can meet at the moment hold up nobody else: they are kept apart
 * by their needs, of which there are few, and a lane that is served for one need has been served for all of them.
 */
export interface Need {
  /** The same for the same need. */
  readonly key: string;
}

/** The item that comes next, and where it stands. */
export interface Next<T, N extends Need> {
  readonly item: T;
  readonly lane: string;
  readonly need: N;
}

export class FairQueue<T, N extends Need> {
  /** A list and no Map: those that come and go all the time hold on to what was in them (core/values/turnover.ts). */
  #waiting: { readonly need: N; readonly lanes: Lanes<T> }[] = [];
  /** Counts up with every place in the order of service that is given out. */
  #lastPlace = 0;
  #length = 0;

  push(lane: string, need: N, item: T, isUrgent = false): void {
    this.#length++;
    let lanes = this.#lanesOf(need);
    if (!lanes) {
      lanes = new Map();
      this.#waiting.push({ need, lanes });
    }
    let known = lanes.get(lane);
    if (!known) {
      known = { place: ++this.#lastPlace, urgent: undefined, others: new Fifo() };
      lanes.set(lane, known);
    }
    if (isUrgent) {
      known.urgent ??= new Fifo();
      known.urgent.push(item);
    } else known.others.push(item);
  }

  /** The next item among those whose need can be met, or that of the first who has it. It stays until it is taken. */
  next(canBeMet: (need: N, first: T) => boolean): Next<T, N> | undefined {
    let next: (Next<T, N> & { first: Lane<T> }) | undefined;
    for (const { need, lanes } of this.#waiting) {
      const [lane, first] = firstOf(lanes);
      if (next && !comesBefore({ lane, first }, next)) continue;
      const item = peek(first);
      if (canBeMet(need, item)) next = { item, lane, first, need };
    }
    return next;
  }

  /** Takes out what `next` has shown. */
  take({ lane, need }: Next<T, N>): void {
    const lanes = this.#lanesOf(need)!;
    const served = lanes.get(lane)!;
    if (served.urgent?.length) served.urgent.shift();
    else served.others.shift();
    this.#length--;
    // The other needs of the lane go first among its own, so that none of them waits for ever.
    for (const { lanes: others } of this.#waiting) {
      const known = others === lanes ? undefined : others.get(lane);
      if (known) this.#toTheEnd(others, lane, known);
    }
    if (served.urgent?.length || served.others.length) this.#toTheEnd(lanes, lane, served);
    else lanes.delete(lane);
    if (lanes.size === 0) this.#forget(lanes);
  }

  #lanesOf({ key }: N): Lanes<T> | undefined {
    for (const { need, lanes } of this.#waiting) if (need.key === key) return lanes;
    return undefined;
  }

  #forget(lanes: Lanes<T>): void {
    this.#waiting = this.#waiting.filter((each) => each.lanes !== lanes);
  }

  #toTheEnd(lanes: Lanes<T>, name: string, lane: Lane<T>): void {
    lane.place = ++this.#lastPlace;
    lanes.delete(name);
    lanes.set(name, lane);
  }

  /** Takes out all that has this need. */
  takeAll(need: N): T[] {
    const lanes = this.#lanesOf(need) ?? new Map<string, Lane<T>>();
    const items = [...lanes.values()].flatMap((lane) => [...itemsOf(lane)]);
    this.#forget(lanes);
    this.#length -= items.length;
    return items;
  }

  /** How many come before the first item in the lane that fits, if all needs can be met; undefined when none does. */
  before(lane: string, need: N, fits: (item: T) => boolean): number | undefined {
    const own = this.#lanesOf(need)?.get(lane);
    if (!own) return undefined;
    let ahead = 0;
    let isFound = false;
    for (const item of itemsOf(own)) {
      isFound = fits(item);
      if (isFound) break;
      ahead++;
    }
    if (!isFound) return undefined;
    let before = ahead;
    for (const { lanes } of this.#waiting) {
      for (const other of lanes.values()) {
        if (other === own) continue;
        // Every lane is served once in between, and those that come first once more.
        before += Math.min(lengthOf(other), other.place < own.place ? ahead + 1 : ahead);
      }
    }
    return before;
  }

  get length(): number {
    return this.#length;
  }

  /** What waiting items need. */
  get needs(): N[] {
    return this.#waiting.map(({ need }) => need);
  }

  /** All that waits. */
  *[Symbol.iterator](): Iterator<T> {
    for (const { lanes } of this.#waiting) for (const lane of lanes.values()) yield* itemsOf(lane);
  }
}

/** In the order of service: a Map keeps insertion order, and a lane goes to its end when it is served. */
type Lanes<T> = Map<string, Lane<T>>;

interface Lane<T> {
  /** In the order of service over all needs. */
  place: number;
  /** Most lanes never have any. */
  urgent: Fifo<T> | undefined;
  others: Fifo<T>;
}

interface Candidate {
  lane: string;
  first: Lane<unknown>;
}

function firstOf<T>(lanes: Lanes<T>): [string, Lane<T>] {
  for (const entry of lanes) return entry;
  throw new RangeError('a need without lanes is not kept');
}

const peek = <T>({ urgent, others }: Lane<T>): T => urgent?.peek() ?? others.peek()!;

function comesBefore(a: Candidate, b: Candidate): boolean {
  if (a.lane === b.lane && hasUrgent(a) !== hasUrgent(b)) return hasUrgent(a);
  return a.first.place < b.first.place;
}

const hasUrgent = ({ first }: Candidate): boolean => (first.urgent?.length ?? 0) > 0;

const lengthOf = ({ urgent, others }: Lane<unknown>): number => (urgent?.length ?? 0) + others.length;

function* itemsOf<T>({ urgent, others }: Lane<T>): Generator<T> {
  if (urgent) yield* urgent;
  yield* others;
}

/** Cheap at both ends. */
class Fifo<T> {
  #items: T[] = [];
  /** What stands before it has been taken out. */
  #head = 0;

  push(item: T): void {
    this.#items.push(item);
  }

  peek(): T | undefined {
    return this.#items[this.#head];
  }

  shift(): void {
    this.#head++;
    if (this.#head > 1_024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
  }

  get length(): number {
    return this.#items.length - this.#head;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let at = this.#head; at < this.#items.length; at++) yield this.#items[at]!;
  }
}
