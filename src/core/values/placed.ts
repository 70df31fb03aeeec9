/** Objects that come and go all the time, in no order: each knows its place, so nothing has to be looked up or hashed. */
export class Placed<T extends { place: number }> {
  readonly #members: T[] = [];

  get size(): number {
    return this.#members.length;
  }

  add(member: T): void {
    member.place = this.#members.length;
    this.#members.push(member);
  }

  /** What is not among them is left alone. */
  delete(member: T): void {
    if (this.#members[member.place] !== member) return;
    const last = this.#members.pop()!;
    if (last === member) return;
    this.#members[member.place] = last;
    last.place = member.place;
  }

  /** Those that are there now. */
  all(): T[] {
    return [...this.#members];
  }
}
