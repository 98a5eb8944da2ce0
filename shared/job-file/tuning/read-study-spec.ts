import type {
  EarlyStoppingDraft,
  MetricDraft,
  RuntimeConstraintDraft,
  StoppingDraft,
  StudyDraft,
} from '#shared/job-file/draft/study-draft.ts';
import { flag, number, TEXT, wholeNumber } from '#shared/job-file/fields/kind.ts';
import { mapping, mappings, nested, property, readFields, type Table } from '#shared/job-file/fields/table.ts';
import { type Findings, locationOf } from '#shared/job-file/parser/findings.ts';
import {
  createParentLookup,
  type Fields,
  isSet,
  openMapping,
  READ,
  withoutEffect,
} from '#shared/job-file/parser/open-mapping.ts';
import { type FoundNode, locationOfNode, readMappings } from '#shared/job-file/parser/read-values.ts';
import { CONDITION_FIELDS, PARAMETER_FIELDS, readParameter } from '#shared/job-file/tuning/read-parameter-spec.ts';
import { inEarlyStopping, inMetric, inStudy } from '#shared/job-file/tuning/study-targets.ts';

const SAFETY_FIELDS = {
  safetyThreshold: inMetric('safetyThreshold', number()),
  desiredMinSafeTrialsFraction: inMetric('safeTrialsFractionMin', number()),
} as const satisfies Table<MetricDraft>;

const METRIC_FIELDS = {
  metricId: inMetric('id', TEXT),
  goal: inMetric('goal', TEXT),
  safetyConfig: {
    // study.proto: the threshold of a metric with a safetyConfig defaults to 0.
    read: (metric, found, findings) =>
      nested(SAFETY_FIELDS).read(
        isSet(found) ? { ...metric, safetyThreshold: { value: 0, ...locationOfNode(found) } } : metric,
        found,
        findings,
      ),
  },
} as const satisfies Table<MetricDraft>;

const CURVE_FIELDS = {
  useElapsedDuration: inEarlyStopping('usesElapsedTime', flag()),
} as const satisfies Table<EarlyStoppingDraft>;

const CONVEX_FIELDS = {
  ...CURVE_FIELDS,
  maxStepCount: inEarlyStopping('stepsMax', wholeNumber()),
  minStepCount: inEarlyStopping('stepsMin', wholeNumber()),
  minMeasurementCount: inEarlyStopping('measurementsMin', wholeNumber()),
  learningRateParameterName: inEarlyStopping('learningRateParameterId', TEXT),
  updateAllStoppedTrials: inEarlyStopping('updatesAllStoppedTrials', flag()),
} as const satisfies Table<EarlyStoppingDraft>;

const inConstraint = property<RuntimeConstraintDraft>();

const CONSTRAINT = mapping<RuntimeConstraintDraft>(
  { maxDuration: inConstraint('maxDuration', TEXT), endTime: inConstraint('endTime', TEXT) },
  () => ({}),
);

const inStopping = property<StoppingDraft>();

const STOPPING_FIELDS = {
  shouldStopAsap: inStopping('stopsRunningTrials', flag()),
  minimumRuntimeConstraint: inStopping('minimumRuntime', CONSTRAINT),
  maximumRuntimeConstraint: inStopping('maximumRuntime', CONSTRAINT),
  minNumTrials: inStopping('trialsMin', wholeNumber()),
  maxNumTrials: inStopping('trialsMax', wholeNumber()),
  maxNumTrialsNoProgress: inStopping('trialsWithoutProgressMax', wholeNumber()),
  maxDurationNoProgress: inStopping('withoutProgressMax', TEXT),
} as const satisfies Table<StoppingDraft>;

/** Vertex AI's StudySpec and its parts (`google.cloud.aiplatform.v1`, study.proto): all of their fields. */
const STUDY_FIELDS = {
  metrics: inStudy(
    'metrics',
    mappings<MetricDraft>(METRIC_FIELDS, (location) => location),
  ),
  parameters: {
    read: (study, found, findings) => ({
      ...study,
      parameters: readMappings(found, findings).map((parameter) => readParameter(parameter, findings)),
    }),
  },
  algorithm: inStudy('algorithm', TEXT),
  measurementSelectionType: inStudy('measurement', TEXT),
  decayCurveStoppingSpec: READ,
  medianAutomatedStoppingSpec: READ,
  convexAutomatedStoppingSpec: READ,
  studyStoppingConfig: inStudy(
    'stopping',
    mapping<StoppingDraft>(STOPPING_FIELDS, () => ({})),
  ),
  observationNoise: withoutEffect('tuning jobs do not support it, on Vertex AI either'),
} as const satisfies Table<StudyDraft>;

const parentOf = createParentLookup([
  ['studySpec', STUDY_FIELDS],
  ['studySpec.metrics[0]', METRIC_FIELDS],
  ['studySpec.metrics[0].safetyConfig', SAFETY_FIELDS],
  ['studySpec.parameters[0]', PARAMETER_FIELDS],
  ['studySpec.parameters[0].conditionalParameterSpecs[0]', CONDITION_FIELDS],
  ['studySpec.studyStoppingConfig', STOPPING_FIELDS],
  [
    'the tuning job itself, next to studySpec',
    { displayName: READ, maxTrialCount: READ, parallelTrialCount: READ, maxFailedTrialCount: READ, trialJobSpec: READ },
  ],
]);

/** Reads Vertex AI's StudySpec into a study, which has the numbers of trials from the fields beside it. */
export function readStudySpec(study: StudyDraft, found: FoundNode | undefined, findings: Findings): StudyDraft {
  if (found === undefined) {
    return study;
  }
  const named = { ...findings, names: { parentOf } };
  const fields = openMapping(found, STUDY_FIELDS, named);
  const target = { ...study, ...locationOfNode(found), earlyStopping: readEarlyStopping(fields, named) };
  return readFields(fields, { table: STUDY_FIELDS, target }, named);
}

/** The three are a oneof of StudySpec; `{}` selects one with its defaults. */
function readEarlyStopping(study: Fields<typeof STUDY_FIELDS>, findings: Findings): EarlyStoppingDraft | undefined {
  const specs = [
    readStoppingRule(study.decayCurveStoppingSpec, 'DECAY_CURVE', findings),
    readStoppingRule(study.medianAutomatedStoppingSpec, 'MEDIAN', findings),
    readStoppingRule(study.convexAutomatedStoppingSpec, 'CONVEX', findings),
  ].filter((spec) => spec !== undefined);
  const [first, second] = specs;
  if (second !== undefined) {
    findings.problems.push({
      code: 'EARLY_STOPPING',
      message: `${specs.length} early stopping rules are set; a study has one.`,
      remedy: 'Keep one of decayCurveStoppingSpec, medianAutomatedStoppingSpec and convexAutomatedStoppingSpec.',
      ...locationOf(second.rule),
    });
  }
  return first;
}

function readStoppingRule(
  found: FoundNode | undefined,
  rule: 'DECAY_CURVE' | 'MEDIAN' | 'CONVEX',
  findings: Findings,
): EarlyStoppingDraft | undefined {
  const table = rule === 'CONVEX' ? CONVEX_FIELDS : CURVE_FIELDS;
  return mapping<EarlyStoppingDraft>(table, (location) => ({ rule: { value: rule, ...location } })).read(
    found,
    findings,
  );
}
