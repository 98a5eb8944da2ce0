import type { Parameter } from '#shared/domain/study.ts';
import { readDimension } from '#shared/tuning/optimizer/dimension.ts';
import type { Random } from '#shared/tuning/optimizer/random.ts';
import type { Values } from '#shared/tuning/trial.ts';

/** How often a value is drawn again instead of being changed, so that a population does not lose a value for good. */
const RESAMPLE_PROBABILITY = 0.25;

const FACTORS = [0.8, 1.2] as const;

/** Steps of a range that contains 0, where a factor would change small values hardly and 0 not at all. */
const RANGE_STEP = 0.1;

/**
 * Values near the given ones, which remain within their ranges: numbers are multiplied by 0.8 or 1.2, listed numbers
 * move to a neighbor, categories stay, and each of them is sometimes drawn again (Jaderberg et al., "Population Based
 * Training of Neural Networks", 2017). Parameters that a changed value activates are drawn.
 */
export function explore(parameters: readonly Parameter[], values: Values, random: Random): Values {
  const entries = parameters.flatMap((parameter): readonly (readonly [string, string | number])[] => {
    const value = exploreOne(parameter, values[parameter.id], random);
    const active = parameter.children.filter(({ parentValues }) => parentValues.includes(value));
    const children = active.map((child) => child.parameter);
    return [[parameter.id, value], ...Object.entries(explore(children, values, random))];
  });
  return Object.fromEntries(entries);
}

/** Values drawn from the whole ranges. */
export function draw(parameters: readonly Parameter[], random: Random): Values {
  return explore(parameters, {}, random);
}

function exploreOne(parameter: Parameter, value: string | number | undefined, random: Random): string | number {
  const { toValue, toCoordinate, fromUniform } = readDimension(parameter);
  if (value === undefined || Number.isNaN(toCoordinate(value)) || random() < RESAMPLE_PROBABILITY) {
    return toValue(fromUniform(random()));
  }
  const { space } = parameter;
  const isUp = random() < 0.5;
  switch (space.kind) {
    // Parameters of the same name in other branches may have had the value in another type.
    case 'CATEGORICAL':
      return String(value);
    case 'DISCRETE':
      return space.values[space.values.indexOf(Number(value)) + (isUp ? 1 : -1)] ?? Number(value);
    default: {
      const changed = change(Number(value), space, isUp);
      const rounded = space.kind === 'INTEGER' ? roundAway(changed, Number(value)) : changed;
      return Math.min(space.max, Math.max(space.min, rounded));
    }
  }
}

function change(value: number, { min, max }: { readonly min: number; readonly max: number }, isUp: boolean): number {
  const hasOneSign = (min >= 0 || max <= 0) && value !== 0;
  return hasOneSign ? value * FACTORS[isUp ? 1 : 0] : value + (isUp ? RANGE_STEP : -RANGE_STEP) * (max - min);
}

/** A small whole number would never change if it was rounded to the nearest. */
function roundAway(changed: number, value: number): number {
  return changed > value ? Math.ceil(changed) : Math.floor(changed);
}
