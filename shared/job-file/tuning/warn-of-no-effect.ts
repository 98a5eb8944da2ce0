import { isMultiObjective, type Metric, type Study } from '#shared/domain/study.ts';
import type { StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import {
  type Findings,
  type Located,
  locationOf,
  locationOfList,
  type SourceLocation,
} from '#shared/job-file/parser/findings.ts';

type Choices = Pick<Study, 'earlyStopping' | 'measurement' | 'metrics'>;

/** Replaces the choices that have no effect if a study has several objectives, with a warning. */
export function warnOfNoEffect(
  study: StudyDraft,
  choices: Choices,
  findings: Findings,
): Pick<Study, 'earlyStopping' | 'measurement'> {
  return {
    earlyStopping: checkStopping(study, choices, findings),
    measurement: checkMeasurement(study, choices, findings),
  };
}

function checkStopping({ earlyStopping }: StudyDraft, choices: Choices, findings: Findings): Study['earlyStopping'] {
  if (choices.earlyStopping === null || earlyStopping === undefined || !isMultiObjective(choices)) {
    return choices.earlyStopping;
  }
  const reason = `the study optimizes ${describe(choices.metrics)}, and a trial that is behind in one may be ahead in another`;
  warn(earlyStopping.rule, { reason, remedy: 'Remove it: all trials run to their end.' }, findings);
  return null;
}

function checkMeasurement({ measurement }: StudyDraft, choices: Choices, findings: Findings): Study['measurement'] {
  if (choices.measurement !== 'BEST' || measurement === undefined || !isMultiObjective(choices)) {
    return choices.measurement;
  }
  const reason = `the study optimizes ${describe(choices.metrics)}, so that no measurement of a trial is the best one`;
  warn(measurement, { reason, remedy: 'Remove it: the last value of each metric counts.' }, findings);
  return 'LAST';
}

function describe(metrics: readonly Metric[]): string {
  return `${metrics.filter(({ safety }) => safety === null).length} metrics`;
}

/** Warns of bounds or values that the type of a parameter does not have. */
export function warnOfOtherType(ignored: Located<unknown> | undefined, type: string, findings: Findings): void {
  if (ignored !== undefined) {
    const found = { ...ignored, ...locationOfList(ignored) };
    warn(found, { reason: `the parameter's type is ${type}`, remedy: 'Remove it, or correct the type.' }, findings);
  }
}

function warn(
  found: SourceLocation,
  { reason, remedy }: { readonly reason: string; readonly remedy: string },
  findings: Findings,
): void {
  const message = `${found.path} has no effect: ${reason}.`;
  findings.warnings.push({ code: 'FIELD_WITHOUT_EFFECT', message, remedy, ...locationOf(found) });
}
