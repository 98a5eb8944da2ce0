import { type EarlyStoppingDraft, type StudyDraft, stoppingBy } from '#shared/job-file/draft/study-draft.ts';
import { type Findings, locationOf } from '#shared/job-file/parser/findings.ts';
import { type Fields, openMapping, type ParentLookup } from '#shared/job-file/parser/open-mapping.ts';
import { type FoundNode, isEmpty, readInteger, readNumber, readText } from '#shared/job-file/parser/read-values.ts';
import { readShortName } from '#shared/job-file/parser/short-names.ts';
import { readAutomaticStopping } from '#shared/job-file/tuning/read-hyperparameter-spec.ts';
import { readTuneParameters } from '#shared/job-file/tuning/read-tune-parameters.ts';
import { ALGORITHMS, GOALS, MEASUREMENTS, STOPPING_RULES, TUNE_MESSAGE } from '#shared/job-file/tuning/tune-fields.ts';

/**
 * Reads `tune` of Dropforge's own format; its short names become those of AI Platform's HyperparameterSpec. `parentOf`
 * knows the other fields of the job.
 */
export function readTune(found: FoundNode, parentOf: ParentLookup, findings: Findings): StudyDraft | undefined {
  if (isEmpty(found.node, found.path, findings)) {
    return undefined;
  }
  const tune = openMapping(found, { ...TUNE_MESSAGE, parentOf }, findings);
  const location = { path: found.path, line: found.node.line };
  const id = readText(tune.metric, findings);
  return {
    ...location,
    metrics: [
      {
        ...location,
        id,
        goal: readShortName(tune.goal, GOALS, findings) ?? { ...(id ?? location), value: GOALS.maximize },
        safetyThreshold: undefined,
        safeTrialsFractionMin: undefined,
      },
    ],
    algorithm: readShortName(tune.algorithm, ALGORITHMS, findings),
    maxTrials: readInteger(tune.trials, findings),
    parallelTrials: readInteger(tune.parallel, findings),
    maxFailedTrials: readInteger(tune.maxFailedTrials, findings),
    earlyStopping: readStopping(tune, findings),
    stopping: undefined,
    measurement: readShortName(tune.measurement, MEASUREMENTS, findings),
    parameters: readTuneParameters(tune.parameters, parentOf, findings),
    resumeJobId: readText(tune.resume, findings),
    maxCostUsd: readNumber(tune.maxCost, findings),
  };
}

/** `stopping` names a rule; `earlyStopping` leaves it to Dropforge. */
function readStopping(
  { stopping, earlyStopping }: Fields<typeof TUNE_MESSAGE.rules>,
  findings: Findings,
): EarlyStoppingDraft | undefined {
  const rule = readShortName(stopping, STOPPING_RULES, findings);
  const automatic = readAutomaticStopping(earlyStopping, findings);
  if (rule !== undefined && automatic !== undefined) {
    const message = `${rule.path} cannot be combined with ${automatic.rule.path}.`;
    const remedy = 'Remove one of the two.';
    findings.problems.push({ code: 'EARLY_STOPPING', message, remedy, ...locationOf(rule) });
  }
  switch (rule?.value) {
    case 'ASHA':
    case 'MEDIAN':
      return stoppingBy({ ...rule, value: rule.value });
    default:
      return automatic;
  }
}
