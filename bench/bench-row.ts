/** One line of what `npm run bench` prints: a figure beside the floor that it cannot or should not pass. */
export type BenchRow = {
  readonly name: string;
  readonly measured: string;
  readonly floor: string;
  /** Measured over floor, in the sense that the goal states. */
  readonly ratio: number;
  readonly goal: string;
  readonly isMet: boolean;
};
