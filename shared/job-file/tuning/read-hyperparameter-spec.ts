import type {
  EarlyStoppingDraft,
  MetricDraft,
  ParameterDraft,
  StudyDraft,
} from '#shared/job-file/draft/study-draft.ts';
import { flag, type Kind, number, TEXT, wholeNumber } from '#shared/job-file/fields/kind.ts';
import { mappings, part, type Row, readMapping, type Table } from '#shared/job-file/fields/table.ts';
import { type Findings, type Located, locationOf } from '#shared/job-file/parser/findings.ts';
import { type FoundNode, locationOfNode, readNumber, readTextList } from '#shared/job-file/parser/read-values.ts';
import { inMetric, inParameter, inStudy } from '#shared/job-file/tuning/study-targets.ts';
import { warnOfOtherType } from '#shared/job-file/tuning/warn-of-no-effect.ts';

/** A bound in quotes is read as a number, as the service does. */
const BOUND: Kind<Located<number> | undefined> = {
  ...number(),
  read: (found, findings) => {
    const bound = readNumber(found, findings);
    if (bound !== undefined && found?.node.kind === 'SCALAR' && typeof found.node.value === 'string') {
      findings.warnings.push({
        code: 'NUMBER_AS_TEXT',
        message: `${bound.path} is text that looks like a number; it is read as ${bound.value}.`,
        remedy: 'Write the number without quotes.',
        ...locationOf(bound),
      });
    }
    return bound;
  },
};

/** All fields of AI Platform's ParameterSpec (`ml.googleapis.com` v1). */
export const PARAMETER_FIELDS = {
  parameterName: inParameter('id', TEXT),
  type: inParameter('kind', TEXT),
  minValue: inParameter('min', BOUND),
  maxValue: inParameter('max', BOUND),
  categoricalValues: valuesOf('CATEGORICAL'),
  discreteValues: valuesOf('DISCRETE'),
  scaleType: inParameter('scale', TEXT),
} as const satisfies Table<ParameterDraft>;

/** The list of a type; if the parameter's type has none, whichever list is present, so that it is still validated. */
function valuesOf(type: 'CATEGORICAL' | 'DISCRETE'): Row<ParameterDraft> {
  return {
    read: (parameter, found, findings) => {
      const values = readTextList(found, findings);
      const kind = parameter.kind?.value;
      if (kind !== type && (kind === 'CATEGORICAL' || kind === 'DISCRETE')) {
        warnOfOtherType(values?.[0], kind, findings);
        return parameter;
      }
      return { ...parameter, values: parameter.values ?? values };
    },
  };
}

/** Early stopping as a boolean that leaves the rule to the service: in AI Platform and in Dropforge's own format. */
export const AUTOMATIC_STOPPING: Kind<EarlyStoppingDraft | undefined> = {
  ...flag(),
  read: (found, findings) => {
    const isEnabled = flag().read(found, findings);
    return isEnabled?.value === true ? { rule: { ...isEnabled, value: 'AUTOMATIC' } } : undefined;
  },
};

/** The service has one metric. */
const ofMetric = part<StudyDraft, MetricDraft>((study, change) => ({ ...study, metrics: study.metrics.map(change) }));

/** All fields of AI Platform's HyperparameterSpec. */
export const HYPERPARAMETER_FIELDS = {
  goal: ofMetric(inMetric('goal', TEXT)),
  hyperparameterMetricTag: ofMetric(inMetric('id', TEXT)),
  algorithm: inStudy('algorithm', TEXT),
  maxTrials: inStudy('maxTrials', wholeNumber()),
  maxParallelTrials: inStudy('parallelTrials', wholeNumber()),
  maxFailedTrials: inStudy('maxFailedTrials', wholeNumber()),
  enableTrialEarlyStopping: inStudy('earlyStopping', AUTOMATIC_STOPPING),
  resumePreviousJobId: inStudy('resumeJobId', TEXT),
  params: inStudy(
    'parameters',
    mappings<ParameterDraft>(PARAMETER_FIELDS, (location) => ({ ...location, children: [] })),
  ),
  // A field of Dropforge's own (docs/job-file.md): the API has none for it.
  dropforgeMaxCost: inStudy('maxCostUsd', number()),
} as const satisfies Table<StudyDraft>;

/**
 * Reads AI Platform's HyperparameterSpec; undefined if it is absent or empty. There is always one metric: the service
 * has a default tag (`training/hptuning/metric`).
 */
export function readHyperparameterSpec(found: FoundNode, findings: Findings): StudyDraft | undefined {
  const location = locationOfNode(found);
  const target: StudyDraft = { ...location, metrics: [location] };
  const study = readMapping(found, { table: HYPERPARAMETER_FIELDS, target }, findings);
  return found.node.kind === 'MAPPING' && found.node.entries.length > 0 ? study : undefined;
}
