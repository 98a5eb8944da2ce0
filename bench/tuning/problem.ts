import type { Parameter, ParameterScale } from '#shared/domain/study.ts';
import { type Random, sampleNormal } from '#shared/tuning/optimizer/random.ts';
import type { Values } from '#shared/tuning/trial.ts';

/** A program to tune whose optimum is known. */
export type Problem = {
  readonly name: string;
  readonly parameters: readonly Parameter[];
  /** The value that is to be minimized, without noise; null if a trial with these values fails. */
  truth(values: Values): number | null;
  /** The value that a trial reports. */
  report(values: Values, random: Random): number | null;
  /** The lowest truth, or a bound below it. */
  readonly optimum: number;
};

type Definition = Pick<Problem, 'parameters' | 'truth' | 'optimum'> & {
  /** Standard deviation of the noise. */
  readonly noise?: number;
  /** The share of the trials that do not converge, whatever their values. */
  readonly outlierShare?: number;
};

export function define(name: string, { noise = 0, outlierShare = 0, ...definition }: Definition): Problem {
  return {
    ...definition,
    name,
    report(values, random) {
      const truth = definition.truth(values);
      if (truth === null) {
        return null;
      }
      return outlierShare > 0 && random() < outlierShare
        ? truth + 3 + 10 * random()
        : truth + noise * sampleNormal(random);
    },
  };
}

export function real(id: string, [min, max]: readonly [number, number], scale: ParameterScale = 'LINEAR'): Parameter {
  return { id, space: { kind: 'DOUBLE', min, max }, scale, children: [] };
}

export function whole(id: string, [min, max]: readonly [number, number], scale: ParameterScale = 'LINEAR'): Parameter {
  return { id, space: { kind: 'INTEGER', min, max }, scale, children: [] };
}

export function list(id: string, values: readonly number[], scale: ParameterScale = 'LINEAR'): Parameter {
  return { id, space: { kind: 'DISCRETE', values }, scale, children: [] };
}

/** A category, and the parameters that exist for some of its values. */
export function category(
  id: string,
  values: readonly string[],
  children: Readonly<Record<string, readonly Parameter[]>> = {},
): Parameter {
  return {
    id,
    space: { kind: 'CATEGORICAL', values },
    scale: 'NONE',
    children: Object.entries(children).flatMap(([value, parameters]) =>
      parameters.map((parameter) => ({ parentValues: [value], parameter })),
    ),
  };
}

export function reals(count: number, range: readonly [number, number]): Parameter[] {
  return Array.from({ length: count }, (_, index) => real(`x${index}`, range));
}

/** A number of the trial; 0 if the parameter is not active. */
export function number(values: Values, id: string): number {
  return Number(values[id] ?? 0);
}

/** The numbers x0, x1, … */
export function vector(values: Values): number[] {
  return Object.keys(values).map((_, index) => number(values, `x${index}`));
}

export function sum(terms: readonly number[]): number {
  return terms.reduce((total, term) => total + term, 0);
}
