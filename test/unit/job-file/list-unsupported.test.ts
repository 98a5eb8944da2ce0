import { describe, expect, it } from 'vitest';
import { describeProblem } from '../../support/job-file/describe-problem.ts';
import { custom, machinesOf } from '../../support/job-file/read-machines.ts';

function unsupportedOf(text: string) {
  return machinesOf(text).findings.unsupported;
}

const A2 = 'machineSpec: {machineType: a2-highgpu-1g}';
const TUNE = 'tune: {metric: loss, parameters: {seed: [1, 2]}}';
const NAMED = 'projects/lab/zones/us-central1-a/reservations/gpus';

function poolOf(module: string): string {
  return `{machineSpec: {machineType: n1-standard-4}, replicaCount: 1, pythonPackageSpec: {packageUris: [gs://lab/t.whl], pythonModule: ${module}}}`;
}

describe('what is valid and not supported', () => {
  it.each([['TPUs', custom('masterType: cloud_tpu'), 'trainingInput.masterType']])(
    'reports %s with its field',
    (_, text, path) => {
      expect(unsupportedOf(text).map(describeProblem)).toEqual([`UNSUPPORTED_FIELD ${path}`]);
    },
  );

  it.each([
    ['workers', custom('masterType: standard, workerType: standard, workerCount: 2')],
    ['tiers of several machines', 'trainingInput: {scaleTier: STANDARD_1}'],
    ['containers', custom('masterType: standard, masterConfig: {imageUri: gcr.io/lab/a}')],
    ['workers with a program of their own', `workerPoolSpecs: [${poolOf('t')}, ${poolOf('worker')}]`],
    ['named reservations', `module: t\nreservation: ${NAMED}`],
    ['a package on one machine', custom('masterType: standard_gpu, pythonModule: t')],
    ['workers with a count of 0', custom('masterType: standard, workerType: standard, workerCount: 0')],
    ['empty strings', custom('masterType: standard, serviceAccount: "", network: ""')],
    [
      'FLEX_START for one machine',
      `workerPoolSpecs: [{${A2}, pythonPackageSpec: {pythonModule: t}}]\nscheduling: {strategy: FLEX_START}`,
    ],
    [
      'FLEX_START for several machines',
      `workerPoolSpecs: [{${A2}, pythonPackageSpec: {pythonModule: t}}, {${A2}, replicaCount: 2}]\nscheduling: {strategy: FLEX_START}`,
    ],
    ['service accounts', 'module: t\nserviceAccount: a@b.iam.gserviceaccount.com'],
    ['networks', 'module: t\nnetwork: projects/lab/global/networks/n'],
    ['encryption keys', 'module: t\nkmsKey: projects/lab/locations/l/keyRings/r/cryptoKeys/k'],
    ['tuning', `module: t\n${TUNE}`],
    ['several objectives', 'module: t\ntune: {metrics: {loss: minimize, size: minimize}, parameters: {seed: [1, 2]}}'],
    ['Spot VMs', 'module: t\nspot: true'],
    ['any reservation', 'module: t\nreservation: any'],
    ['no reservation', 'module: t\nreservation: none'],
    ['another boot disk', 'module: t\ndisk: {type: pd-standard}'],
    ['restarts, limits and variables', 'module: t\nretries: 3\nmaxRuntime: 1h\nenv: {A: b}'],
  ])('does not report %s', (_, text) => {
    expect(unsupportedOf(text)).toEqual([]);
  });

  it('gives a reason, a remedy and a line', () => {
    const found = unsupportedOf('trainingInput:\n  scaleTier: CUSTOM\n  masterType: cloud_tpu');
    expect(found.map(({ line }) => line)).toEqual([3]);
    for (const { message, remedy } of found) {
      expect(message).toMatch(/\.$/);
      expect(remedy).toMatch(/\.$/);
    }
  });
});
