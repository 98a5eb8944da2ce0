import type { Parameter, StudyAlgorithm } from '#shared/domain/study.ts';
import type { StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import { type Findings, locationOf } from '#shared/job-file/parser/findings.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';
import { TRIALS_MAX } from '#shared/tuning/trial.ts';

type Grid = {
  readonly study: StudyDraft;
  readonly algorithm: StudyAlgorithm | null;
  /** Empty if they are invalid. */
  readonly parameters: readonly Parameter[];
  readonly trialsMax: number | null;
};

/**
 * Checks that a grid search can try all combinations. Both services document that GRID_SEARCH does not support DOUBLE
 * parameters.
 */
export function checkGrid({ study, algorithm, parameters, trialsMax }: Grid, findings: Findings): void {
  if (algorithm !== 'GRID' || study.algorithm === undefined || parameters.length === 0) {
    return;
  }
  const location = locationOf(study.algorithm);
  const range = findDouble(parameters);
  if (range !== undefined) {
    const message = `The grid search algorithm does not support the parameter ${quote(range.id)} of type DOUBLE.`;
    const remedy = 'Change its type to DISCRETE with a list of values, or choose another algorithm.';
    findings.problems.push({ code: 'GRID_OF_DOUBLES', message, remedy, ...location });
    return;
  }
  const size = gridSize(parameters);
  if (size > TRIALS_MAX) {
    const count = size > Number.MAX_SAFE_INTEGER ? size.toExponential(1) : String(size);
    const message = `The grid has ${count} combinations, but a study has at most ${TRIALS_MAX} trials.`;
    const remedy = 'List fewer values, or choose another algorithm, which tries a part of them.';
    findings.problems.push({ code: 'GRID_TOO_LARGE', message, remedy, ...location });
  } else if (trialsMax !== null && size > trialsMax) {
    const message = `The grid has ${size} combinations, of which only the first ${trialsMax} are tried.`;
    const remedy = `Increase the number of trials to ${size}, or choose another algorithm.`;
    findings.warnings.push({ code: 'GRID_ABOVE_MAX_TRIALS', message, remedy, ...location });
  }
}

function findDouble(parameters: readonly Parameter[]): Parameter | undefined {
  const own = parameters.find(({ space }) => space.kind === 'DOUBLE');
  return own ?? (parameters.length === 0 ? undefined : findDouble(parameters.flatMap(childrenOf)));
}

function childrenOf({ children }: Parameter): readonly Parameter[] {
  return children.map(({ parameter }) => parameter);
}

/** The number of combinations of active values. */
function gridSize(parameters: readonly Parameter[]): number {
  return parameters.reduce((product, parameter) => product * sizeOf(parameter), 1);
}

/** Each value of a parent counts once for every combination of the parameters that it activates. */
function sizeOf({ space, children }: Parameter): number {
  const count = 'values' in space ? space.values.length : space.max - space.min + 1;
  const parentValues = new Set(children.flatMap((child) => child.parentValues));
  const activeFor = (value: string | number) => children.filter((child) => child.parentValues.includes(value));
  return [...parentValues].reduce<number>(
    (sum, value) => sum + gridSize(activeFor(value).map(({ parameter }) => parameter)) - 1,
    count,
  );
}
