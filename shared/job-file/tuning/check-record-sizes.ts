import { jsonBytesOf } from '#shared/domain/job-size.ts';
import type { Parameter, Study } from '#shared/domain/study.ts';
import type { StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import { type Findings, locationOf } from '#shared/job-file/parser/findings.ts';

/**
 * Limit on the metrics of one point of a curve: CURVE_POINTS_MAX of them stay below half of the 1 MiB of a Firestore
 * document (docs, "Usage and limits").
 */
const POINT_BYTES_MAX = 4 << 10;

/** Limit on the values of one trial, which its job contains as arguments of every replica group. */
const TRIAL_VALUES_BYTES_MAX = 24 << 10;

/** Limit on the values of all trials together: a suggestion reads them into the memory of the function `tuning`. */
const ALL_VALUES_BYTES_MAX = 64 << 20;

/** A number that JSON writes with the most characters: `-1.2345678901234567e-300`. */
const NUMBER_BYTES_MAX = 24;

/** A quoted name is followed by a colon, and a value by a comma. */
const PUNCTUATION_BYTES = 2;

type Sized = Pick<Study, 'metrics' | 'parameters' | 'trialsMax'>;

/** Rejects a study whose trials or curves would be too large to store or to read, however its parts are named. */
export function checkRecordSizes(study: StudyDraft, { metrics, parameters, trialsMax }: Sized, findings: Findings) {
  const location = locationOf(study);
  const pointBytes = sum(metrics.map(({ id }) => jsonBytesOf(id) + PUNCTUATION_BYTES + NUMBER_BYTES_MAX));
  if (pointBytes > POINT_BYTES_MAX) {
    const message = `The metrics of one measurement have up to ${pointBytes} bytes with their names; the limit is ${POINT_BYTES_MAX}.`;
    const remedy = 'Use shorter names, or fewer safety metrics.';
    findings.problems.push({ code: 'METRICS_TOO_LARGE', message, remedy, ...location });
  }
  const trialBytes = valuesBytesOf(parameters);
  const remedy = 'Use shorter names and values, tune fewer parameters, or run fewer trials.';
  if (trialBytes > TRIAL_VALUES_BYTES_MAX) {
    const message = `The values of one trial have up to ${trialBytes} bytes with their names; the limit is ${TRIAL_VALUES_BYTES_MAX}.`;
    findings.problems.push({ code: 'VALUES_TOO_LARGE', message, remedy, ...location });
  } else if (trialBytes * trialsMax > ALL_VALUES_BYTES_MAX) {
    const message = `The values of ${trialsMax} trials have up to ${trialBytes * trialsMax} bytes; the limit is ${ALL_VALUES_BYTES_MAX}.`;
    findings.problems.push({ code: 'VALUES_TOO_LARGE', message, remedy, ...location });
  }
}

/** The largest size of a trial's values as JSON. */
function valuesBytesOf(parameters: readonly Parameter[]): number {
  return sum(parameters.map(valueBytesOf));
}

/** With the children that one value of the parameter activates. */
function valueBytesOf({ id, space, children }: Parameter): number {
  const parentValues = new Set(children.flatMap((child) => child.parentValues));
  const childBytes = [...parentValues].map((value) =>
    valuesBytesOf(children.filter((child) => child.parentValues.includes(value)).map(({ parameter }) => parameter)),
  );
  const own = space.kind === 'CATEGORICAL' ? highest(space.values.map(jsonBytesOf)) : NUMBER_BYTES_MAX;
  return jsonBytesOf(id) + PUNCTUATION_BYTES + own + highest(childBytes);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function highest(numbers: readonly number[]): number {
  return numbers.reduce((max, number) => Math.max(max, number), 0);
}
