/** Values for shell variables, by patterns of their names. */
const VALUES: readonly (readonly [RegExp, string])[] = [
  [/NAME|JOB_?ID|^JOB$|RUN|MODEL_VERSION/, 'job_1'],
  [/POOL_SPEC/, 'machine-type=n1-standard-4,replica-count=1,container-image-uri=gcr.io/my-project/trainer:1'],
  [/REGION|LOCATION/, 'us-central1'],
  [/IMAGE/, 'gcr.io/my-project/trainer:1'],
  [/PACKAGE_?URI|PYTHON_PACKAGE|DIST/, 'gs://my-bucket/trainer-0.1.tar.gz'],
  [/PACKAGE_?PATH|^PWD$|PACKAGE/, 'trainer'],
  [/LABELS/, 'team=vision'],
  [/CONFIG/, 'config.yaml'],
  [/PYTHON_?VERSION/, '3.7'],
  [/VERSION|RUNTIME/, '2.11'],
  [/MACHINE/, 'n1-standard-8'],
  [/(GPU|ACCELERATOR)_?TYPE/, 'nvidia-tesla-t4'],
  [/COUNT/, '1'],
  [/MODULE/, 'trainer.task'],
  [/TIER/, 'BASIC'],
  [/DIR|PATH|OUTPUT|URI/, 'gs://my-bucket/jobs/out'],
  [/BUCKET/, 'my-bucket'],
  [/WORKER_CONFIG|REDUCER_CONFIG/, ''],
];

const VARIABLE =
  /\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*|\d)|\$\((?:[^()]|\([^()]*\))*\)|\{([A-Za-z_]\w*)\}|<([a-z_ ]+)>/g;

/** Replaces the variables of a shell or notebook line by plausible values. */
export function expandVariables(line: string): string {
  return line.replaceAll(VARIABLE, (text, ...names: readonly unknown[]) => {
    const name = names.slice(0, 4).find((found) => typeof found === 'string') ?? text;
    return VALUES.find(([pattern]) => pattern.test(String(name).toUpperCase()))?.[1] ?? 'job_1';
  });
}
