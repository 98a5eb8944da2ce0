import type {
  EarlyStoppingDraft,
  MetricDraft,
  RuntimeConstraintDraft,
  StoppingDraft,
  StudyDraft,
} from '#shared/job-file/draft/study-draft.ts';
import { type Findings, locationOf } from '#shared/job-file/parser/findings.ts';
import { type Fields, isSet, openMapping, openOptional } from '#shared/job-file/parser/open-mapping.ts';
import {
  type FoundNode,
  readBoolean,
  readInteger,
  readMappings,
  readNumber,
  readText,
} from '#shared/job-file/parser/read-values.ts';
import { readParameters } from '#shared/job-file/tuning/read-parameter-spec.ts';
import {
  CONVEX_STOPPING_SPEC,
  CURVE_STOPPING_SPEC,
  METRIC_SPEC,
  SAFETY_CONFIG,
  STUDY_SPEC,
  STUDY_STOPPING_CONFIG,
  TIME_CONSTRAINT,
} from '#shared/job-file/tuning/study-spec-fields.ts';

/** A StudySpec; if absent, its path. */
export type StudySpecPlace = { readonly path: string; readonly node: FoundNode['node'] | undefined };

/**
 * Reads Vertex AI's StudySpec; syntax errors are added to the findings. The job has the numbers of trials, beside the
 * StudySpec.
 */
export function readStudySpec({ path, node }: StudySpecPlace, findings: Findings): StudyDraft {
  const study = openOptional(node && { path, node }, STUDY_SPEC, findings);
  return {
    path,
    ...(node && { line: node.line }),
    metrics: readMappings(study.metrics, findings).map((metric) => readMetric(metric, findings)),
    algorithm: readText(study.algorithm, findings),
    earlyStopping: readEarlyStopping(study, findings),
    stopping: readStopping(study.studyStoppingConfig, findings),
    measurement: readText(study.measurementSelectionType, findings),
    parameters: readParameters(study.parameters, findings),
  };
}

function readMetric(found: FoundNode, findings: Findings): MetricDraft {
  const metric = openMapping(found, METRIC_SPEC, findings);
  const { safetyConfig } = metric;
  const safety = openOptional(safetyConfig, SAFETY_CONFIG, findings);
  const threshold = readNumber(safety.safetyThreshold, findings);
  return {
    path: found.path,
    line: found.node.line,
    id: readText(metric.metricId, findings),
    goal: readText(metric.goal, findings),
    // study.proto: the threshold of a metric with a safetyConfig defaults to 0.
    safetyThreshold:
      threshold ??
      (isSet(safetyConfig) ? { value: 0, path: safetyConfig.path, line: safetyConfig.node.line } : undefined),
    safeTrialsFractionMin: readNumber(safety.desiredMinSafeTrialsFraction, findings),
  };
}

/** The three are a oneof of StudySpec; `{}` selects one with its defaults. */
function readEarlyStopping(study: Fields<typeof STUDY_SPEC.rules>, findings: Findings): EarlyStoppingDraft | undefined {
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
  const curve = rule === 'CONVEX' ? {} : openOptional(found, CURVE_STOPPING_SPEC, findings);
  const convex = rule === 'CONVEX' ? openOptional(found, CONVEX_STOPPING_SPEC, findings) : {};
  if (!isSet(found)) {
    return undefined;
  }
  return {
    rule: { value: rule, path: found.path, line: found.node.line },
    usesElapsedTime: readBoolean(curve.useElapsedDuration ?? convex.useElapsedDuration, findings),
    stepsMax: readInteger(convex.maxStepCount, findings),
    stepsMin: readInteger(convex.minStepCount, findings),
    measurementsMin: readInteger(convex.minMeasurementCount, findings),
    learningRateParameterId: readText(convex.learningRateParameterName, findings),
    updatesAllStoppedTrials: readBoolean(convex.updateAllStoppedTrials, findings),
  };
}

function readStopping(found: FoundNode | undefined, findings: Findings): StoppingDraft | undefined {
  const config = openOptional(found, STUDY_STOPPING_CONFIG, findings);
  if (!isSet(found)) {
    return undefined;
  }
  return {
    stopsRunningTrials: readBoolean(config.shouldStopAsap, findings),
    minimumRuntime: readConstraint(config.minimumRuntimeConstraint, findings),
    maximumRuntime: readConstraint(config.maximumRuntimeConstraint, findings),
    trialsMin: readInteger(config.minNumTrials, findings),
    trialsMax: readInteger(config.maxNumTrials, findings),
    trialsWithoutProgressMax: readInteger(config.maxNumTrialsNoProgress, findings),
    withoutProgressMax: readText(config.maxDurationNoProgress, findings),
  };
}

function readConstraint(found: FoundNode | undefined, findings: Findings): RuntimeConstraintDraft | undefined {
  const constraint = openOptional(found, TIME_CONSTRAINT, findings);
  return isSet(found)
    ? {
        path: found.path,
        maxDuration: readText(constraint.maxDuration, findings),
        endTime: readText(constraint.endTime, findings),
      }
    : undefined;
}
