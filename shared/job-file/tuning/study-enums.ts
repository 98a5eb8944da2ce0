import { type Findings, type Located, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

/** What a word of the API stands for, by the word. */
export type Meanings<T> = Readonly<Record<string, T>>;

/** The enumerations of AI Platform's HyperparameterSpec and Vertex AI's StudySpec, which has other words for a few. */
export const ALGORITHMS = {
  ALGORITHM_UNSPECIFIED: 'BAYESIAN',
  GRID_SEARCH: 'GRID',
  RANDOM_SEARCH: 'RANDOM',
  POPULATION_BASED_TRAINING: 'POPULATION_BASED',
} as const;

/** Both APIs maximise where nothing is specified. */
export const GOALS = { GOAL_TYPE_UNSPECIFIED: 'MAXIMIZE', MAXIMIZE: 'MAXIMIZE', MINIMIZE: 'MINIMIZE' } as const;

export const SCALES = {
  NONE: 'NONE',
  SCALE_TYPE_UNSPECIFIED: 'NONE',
  UNIT_LINEAR_SCALE: 'LINEAR',
  UNIT_LOG_SCALE: 'LOG',
  UNIT_REVERSE_LOG_SCALE: 'REVERSE_LOG',
} as const;

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

/** What a word stands for; null where it is none of those, which is then among the findings under the code given. */
export function chooseMeaning<T>(
  word: Located<string>,
  { meanings, code }: { readonly meanings: Meanings<T>; readonly code: string },
  findings: Findings,
): T | null {
  const meaning = Object.hasOwn(meanings, word.value) ? meanings[word.value] : undefined;
  if (meaning !== undefined) {
    return meaning;
  }
  const known = Object.keys(meanings);
  const message = `${word.path} cannot be ${quote(word.value)}.`;
  const remedy = `${didYouMean(word.value, known)}Write one of ${known.join(', ')}.`;
  reportInvalid(word, { code, message, remedy }, findings);
  return null;
}
