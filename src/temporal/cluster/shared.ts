/** Work that several callers want at the same time is done once for all of them. */
export class Shared<T> {
  readonly #underWay = new Map<string, Promise<T>>();

  underWay(key: string): Promise<T> | undefined {
    return this.#underWay.get(key);
  }

  get(key: string, work: () => Promise<T>): Promise<T> {
    let doing = this.#underWay.get(key);
    if (!doing) {
      doing = work().finally(() => this.#underWay.delete(key));
      this.#underWay.set(key, doing);
    }
    return doing;
  }
}
