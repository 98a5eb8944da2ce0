/** Keeps the values that were used last, as many as their weights together allow. */
export class RecentlyUsed<Value> {
  /** In the order of their last use. */
  readonly #values = new Map<string, Value>();
  readonly #weightMax: number;
  readonly #weightOf: (value: Value) => number;
  #weight = 0;

  constructor(weightMax: number, weightOf: (value: Value) => number) {
    this.#weightMax = weightMax;
    this.#weightOf = weightOf;
  }

  has(key: string): boolean {
    return this.#values.has(key);
  }

  get(key: string): Value | undefined {
    const value = this.#values.get(key);
    if (value !== undefined) {
      this.#values.delete(key);
      this.#values.set(key, value);
    }
    return value;
  }

  set(key: string, value: Value): void {
    this.#delete(key);
    this.#values.set(key, value);
    this.#weight += this.#weightOf(value);
    for (const oldest of this.#values.keys()) {
      if (this.#weight <= this.#weightMax) {
        break;
      }
      this.#delete(oldest);
    }
  }

  #delete(key: string): void {
    const value = this.#values.get(key);
    this.#weight -= value === undefined ? 0 : this.#weightOf(value);
    this.#values.delete(key);
  }
}
