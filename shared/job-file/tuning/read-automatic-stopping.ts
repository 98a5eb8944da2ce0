import type { Findings } from '#shared/job-file/parser/findings.ts';
import { type FoundNode, readBoolean } from '#shared/job-file/parser/read-values.ts';
import type { EarlyStoppingDraft } from '#shared/job-file/tuning/study-draft.ts';

/** Early stopping as a switch that leaves the rule to the service: AI Platform's, and that of the own form. */
export function readAutomaticStopping(
  found: FoundNode | undefined,
  findings: Findings,
): EarlyStoppingDraft | undefined {
  const isEnabled = readBoolean(found, findings);
  if (isEnabled?.value !== true) {
    return undefined;
  }
  return {
    rule: { ...isEnabled, value: 'AUTOMATIC' },
    usesElapsedTime: undefined,
    stepsMax: undefined,
    stepsMin: undefined,
    measurementsMin: undefined,
    learningRateParameterId: undefined,
    updatesAllStoppedTrials: undefined,
  };
}
