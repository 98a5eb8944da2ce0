/** One row of `npm run bench`: a measurement next to its floor, the value that it is compared with. */
export type BenchRow = {
  readonly name: string;
  readonly measured: string;
  readonly floor: string;
  /** Measured divided by floor, in the quantity of the goal: time, speed, memory or reads. */
  readonly ratio: number;
  readonly goal: string;
  /** Null: the measurements spread too widely to decide. */
  readonly isMet: boolean | null;
};
