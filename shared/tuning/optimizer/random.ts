/** Returns numbers in [0, 1) that depend on the seed only. */
export type Random = () => number;

/** A generator (sfc32) whose state is an FNV-1a hash of the seed. */
export function createRandom(seed: string): Random {
  let hash = 0x811c9dc5;
  const state = Uint32Array.from({ length: 4 }, (_, index) => {
    for (const character of `${index}:${seed}`) {
      hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
    }
    return hash;
  });
  const next = () => {
    const [a = 0, b = 0, c = 0, d = 0] = state;
    const sum = (a + b + d) >>> 0;
    state.set([b ^ (b >>> 9), (c + (c << 3)) >>> 0, (((c << 21) | (c >>> 11)) + sum) >>> 0, (d + 1) >>> 0]);
    return sum / 0x1_0000_0000;
  };
  for (let discarded = 0; discarded < 16; discarded += 1) {
    next();
  }
  return next;
}

/** A sample of the standard normal distribution (Box-Muller). */
export function sampleNormal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

const PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];

/**
 * A Halton sequence in [0, 1), rotated by the seed: each prefix covers the cube evenly. Dimensions after the twelfth
 * are random, because sequences of large primes are correlated until their first period ends.
 */
export function createHalton(dimensionsCount: number, seed: string): (index: number) => Float64Array {
  const shifts = Float64Array.from({ length: dimensionsCount }, createRandom(seed));
  return (index) => {
    const random = dimensionsCount > PRIMES.length ? createRandom(`${seed}/${index}`) : () => 0;
    return shifts.map((shift, dimension) => {
      const base = PRIMES[dimension];
      return base === undefined ? random() : (radicalInverse(index + 1, base) + shift) % 1;
    });
  };
}

function radicalInverse(number: number, base: number): number {
  let value = 0;
  for (let rest = number, digit = 1 / base; rest > 0; rest = Math.floor(rest / base), digit /= base) {
    value += (rest % base) * digit;
  }
  return value;
}
