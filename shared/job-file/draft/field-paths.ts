import type { Dialect } from '#shared/job-file/draft/job-draft.ts';

/** Where each dialect says what: for values that are missing, or that only flags and defaults have. */
const FIELD_PATHS = {
  'ai-platform': {
    jobId: 'jobId',
    region: 'trainingInput.region',
    jobDir: 'trainingInput.jobDir',
    runtimeVersion: 'trainingInput.runtimeVersion',
    pythonVersion: 'trainingInput.pythonVersion',
    machineType: 'trainingInput.masterType',
    packageUris: 'trainingInput.packageUris',
    pythonModule: 'trainingInput.pythonModule',
    strategy: 'trainingInput.scheduling.strategy',
  },
  'vertex-ai': {
    jobId: 'displayName',
    region: '--region',
    jobDir: 'baseOutputDirectory.outputUriPrefix',
    runtimeVersion: 'workerPoolSpecs[0].pythonPackageSpec.executorImageUri',
    pythonVersion: '--python-version',
    machineType: 'workerPoolSpecs[0].machineSpec.machineType',
    packageUris: 'workerPoolSpecs[0].pythonPackageSpec.packageUris',
    pythonModule: 'workerPoolSpecs[0].pythonPackageSpec.pythonModule',
    strategy: 'scheduling.strategy',
  },
  dropforge: {
    jobId: 'name',
    region: 'region',
    jobDir: 'output',
    runtimeVersion: 'runtime',
    pythonVersion: 'python',
    machineType: 'machine',
    packageUris: 'packages',
    pythonModule: 'module',
    strategy: 'spot',
  },
} as const satisfies Record<Dialect, Record<string, string>>;

export type FieldName = keyof (typeof FIELD_PATHS)['ai-platform'];

export function fieldPath(dialect: Dialect, field: FieldName): string {
  return FIELD_PATHS[dialect][field];
}
