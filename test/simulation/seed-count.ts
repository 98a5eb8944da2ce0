/** The seeds of the longest search, by which SEEDS is measured. */
const USUAL_MAX = 200;

/** Returns how many seeds to run of those that are usual: SEEDS=10000 searches fifty times as long, SEEDS=20 a tenth. */
export function seedCount(usual: number): number {
  const { SEEDS } = process.env;
  return SEEDS === undefined ? usual : Math.ceil((usual * Number(SEEDS)) / USUAL_MAX);
}
