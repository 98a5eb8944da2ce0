import { isMap, isScalar, parseDocument, type Scalar, type YAMLMap } from 'yaml';
import { toCamelCase } from '#shared/job-file/parser/open-mapping.ts';

/** The fields of a tuning that a single training does not have, in all formats. */
const TUNING_FIELDS: readonly string[] = [
  ...['tune', 'hyperparameters', 'studySpec', 'maxTrialCount', 'parallelTrialCount', 'maxFailedTrialCount'],
  'dropforgeMaxCost',
];

/** The fields of a tuning that a single training has by another name. */
const RENAMED_FIELDS: Readonly<Record<string, string>> = {
  trialJobSpec: 'jobSpec',
  hyperparameterTuningJob: 'customJob',
};

/** The mappings that can contain such a field. */
const PARENTS: readonly string[] = ['body', 'trainingInput', 'hyperparameterTuningJob'];

/** The text of a job file without its hyperparameter tuning: what each trial runs before it gets its values. */
export function toSingleTraining(text: string): string {
  const document = parseDocument(text, { uniqueKeys: false, logLevel: 'silent' });
  if (isMap(document.contents)) {
    removeTuning(document.contents);
  }
  return document.toString({ lineWidth: 0 });
}

function removeTuning(mapping: YAMLMap): void {
  const nameOf = (key: unknown) => toCamelCase(String(isScalar(key) ? key.value : key));
  mapping.items = mapping.items.filter(({ key }) => !TUNING_FIELDS.includes(nameOf(key)));
  for (const { key, value } of mapping.items) {
    const name = nameOf(key);
    if (PARENTS.includes(name) && isMap(value)) {
      removeTuning(value);
    }
    if (RENAMED_FIELDS[name] !== undefined) {
      (key as Scalar).value = RENAMED_FIELDS[name];
    }
  }
}
