import type { Parameter, StudyAlgorithm } from '#shared/domain/study.ts';
import type { StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import { type Findings, locationOf } from '#shared/job-file/parser/findings.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';
import { gridSize } from '#shared/tuning/optimizer/grid.ts';
import { TRIALS_MAX } from '#shared/tuning/trial.ts';

type Grid = {
  readonly study: StudyDraft;
  readonly algorithm: StudyAlgorithm | null;
  /** Empty if they are invalid. */
  readonly parameters: readonly Parameter[];
  readonly trialsMax: number | null;
};

/**
 * Checks the number of trials against that of combinations, and that a grid search can try all of them. Both services
 * document that GRID_SEARCH does not support DOUBLE parameters.
 */
export function checkGrid({ study, algorithm, parameters, trialsMax }: Grid, findings: Findings): void {
  if (
    parameters.length > 0 &&
    study.maxTrials !== undefined &&
    trialsMax !== null &&
    trialsMax > gridSize(parameters)
  ) {
    const message = `There are ${gridSize(parameters)} combinations of values: the tuning ends when all of them were tried, before ${trialsMax} trials.`;
    const remedy = 'Nothing is to be done, unless more values were intended.';
    findings.warnings.push({ code: 'TRIALS_ABOVE_COMBINATIONS', message, remedy, ...locationOf(study.maxTrials) });
  }
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
