import type { ParameterScale } from '#shared/domain/study.ts';
import { type Findings, type Located, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

/** Enum values of the APIs, mapped to Dropforge's. */
export type EnumAliases<T> = Readonly<Record<string, T>>;

/** An algorithm of AI Platform; accepted with a warning that Bayesian optimization runs in its place. */
export const POPULATION_BASED_TRAINING = 'POPULATION_BASED_TRAINING';

/** The enums of AI Platform's HyperparameterSpec and Vertex AI's StudySpec, a few of which have different names. */
export const ALGORITHMS = {
  ALGORITHM_UNSPECIFIED: 'BAYESIAN',
  GRID_SEARCH: 'GRID',
  RANDOM_SEARCH: 'RANDOM',
  [POPULATION_BASED_TRAINING]: 'BAYESIAN',
} as const;

/** Both APIs maximize by default. */
export const GOALS = { GOAL_TYPE_UNSPECIFIED: 'MAXIMIZE', MAXIMIZE: 'MAXIMIZE', MINIMIZE: 'MINIMIZE' } as const;

export const SCALES = {
  NONE: 'NONE',
  SCALE_TYPE_UNSPECIFIED: 'NONE',
  UNIT_LINEAR_SCALE: 'LINEAR',
  UNIT_LOG_SCALE: 'LOG',
  UNIT_REVERSE_LOG_SCALE: 'REVERSE_LOG',
} as const;

/** The names that both APIs give to scales; null for a parameter without one. */
export const SCALE_NAMES = {
  NONE: null,
  LINEAR: 'UNIT_LINEAR_SCALE',
  LOG: 'UNIT_LOG_SCALE',
  REVERSE_LOG: 'UNIT_REVERSE_LOG_SCALE',
} as const satisfies Record<ParameterScale, keyof typeof SCALES | null>;

export const MEASUREMENTS = {
  MEASUREMENT_SELECTION_TYPE_UNSPECIFIED: 'LAST',
  LAST_MEASUREMENT: 'LAST',
  BEST_MEASUREMENT: 'BEST',
} as const;

export const KINDS = {
  DOUBLE: 'DOUBLE',
  INTEGER: 'INTEGER',
  CATEGORICAL: 'CATEGORICAL',
  DISCRETE: 'DISCRETE',
} as const;

/** Resolves an enum value of the APIs; reports an unknown one with the given code and returns null. */
export function resolveAlias<T>(
  name: Located<string>,
  { aliases, code }: { readonly aliases: EnumAliases<T>; readonly code: string },
  findings: Findings,
): T | null {
  const value = Object.hasOwn(aliases, name.value) ? aliases[name.value] : undefined;
  if (value !== undefined) {
    return value;
  }
  const known = Object.keys(aliases);
  const message = `${quote(name.value)} is not a valid value of ${name.path}.`;
  const remedy = `${didYouMean(name.value, known)}Write one of ${known.join(', ')}.`;
  reportInvalid(name, { code, message, remedy }, findings);
  return null;
}
