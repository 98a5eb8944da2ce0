import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { applyOverrides, type TrainingOverrides } from '#shared/job-file/draft/apply-overrides.ts';
import { EMPTY_DRAFT, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { printJobFile } from '#shared/job-file/print-job-file.ts';
import { readJobFile } from '#shared/job-file/read-job-file.ts';

function read(text: string): JobDraft {
  return readJobFile(text, { fileName: 'job.yaml' }).draft ?? EMPTY_DRAFT;
}

/** The resulting job file as plain values. */
function printAfter(text: string, overrides: TrainingOverrides): unknown {
  return parse(printJobFile(applyOverrides(read(text), overrides)));
}

const AI_PLATFORM = 'trainingInput: {scaleTier: CUSTOM, masterType: n1-standard-4, args: [--old]}';
const VERTEX =
  'workerPoolSpecs: [{machineSpec: {machineType: n1-standard-4}, replicaCount: 1, containerSpec: {imageUri: gcr.io/a/b}}]';

describe('flags over a job file', () => {
  it.each<[string, TrainingOverrides, object]>([
    ['the scale tier', { scaleTier: 'standard-1' }, { scaleTier: 'STANDARD_1' }],
    ['the machine of the master', { masterType: 'n1-highmem-8' }, { masterType: 'n1-highmem-8' }],
    [
      'its GPUs',
      { masterAccelerator: { type: 'nvidia-tesla-t4', count: 2 } },
      { masterConfig: { acceleratorConfig: { type: 'NVIDIA_TESLA_T4', count: 2 } } },
    ],
    ['its image', { masterImageUri: 'gcr.io/a/b' }, { masterConfig: { imageUri: 'gcr.io/a/b' } }],
    [
      'workers',
      {
        worker: {
          machineType: 'n1-standard-8',
          count: 3,
          accelerator: { type: 'NVIDIA_TESLA_P4', count: 1 },
          imageUri: 'gcr.io/w',
        },
      },
      {
        workerType: 'n1-standard-8',
        workerCount: 3,
        workerConfig: { acceleratorConfig: { type: 'NVIDIA_TESLA_P4', count: 1 }, imageUri: 'gcr.io/w' },
      },
    ],
    [
      'parameter servers',
      { parameterServer: { machineType: 'n1-standard-8', count: 1 } },
      { parameterServerType: 'n1-standard-8', parameterServerCount: 1 },
    ],
    ['the arguments, all together', { args: ['--new'] }, { args: ['--new'] }],
    ['the packages', { packageUris: ['gs://b/p.whl'] }, { packageUris: ['gs://b/p.whl'] }],
    ['the region', { region: 'us-east1' }, { region: 'us-east1' }],
    ['the job directory', { jobDir: 'gs://b/out' }, { jobDir: 'gs://b/out' }],
    [
      'the versions',
      { runtimeVersion: '2.11', pythonVersion: '3.7' },
      { runtimeVersion: '2.11', pythonVersion: '3.7' },
    ],
    ['the account', { serviceAccount: 'a@b.c' }, { serviceAccount: 'a@b.c' }],
    ['the network', { network: 'projects/p/global/networks/n' }, { network: 'projects/p/global/networks/n' }],
    ['the key', { kmsKeyName: 'projects/p/key' }, { encryptionConfig: { kmsKeyName: 'projects/p/key' } }],
  ])('replace %s', (_, overrides, fields) => {
    const file = { scaleTier: 'CUSTOM', masterType: 'n1-standard-4', args: ['--old'] };
    expect(printAfter(AI_PLATFORM, overrides)).toEqual({ trainingInput: { ...file, ...fields } });
  });

  it('replace labels and job id', () => {
    expect(printAfter('jobId: a\nlabels: {x: y}\ntrainingInput: {}', { jobId: 'b', labels: { p: 'q' } })).toEqual({
      jobId: 'b',
      labels: { p: 'q' },
      trainingInput: {},
    });
  });

  it('leave a file unchanged if none is given', () => {
    expect(applyOverrides(read(VERTEX), {})).toEqual(read(VERTEX));
  });

  it('locate every value at its flag', () => {
    const { pools } = applyOverrides(EMPTY_DRAFT, { masterType: 'm', worker: { machineType: 'w', count: 1 } });
    expect(pools.map(({ machineType, count }) => [machineType?.path, count?.path])).toEqual([
      ['--master-machine-type', undefined],
      ['--worker-machine-type', '--worker-count'],
    ]);
  });

  it('set the display name of a Vertex AI job, keep its pools in position, and pass arguments to its container', () => {
    const worker = { machineType: 'n1-standard-8', count: 2 };
    expect(printAfter(VERTEX, { jobId: 'b', args: ['-x'], parameterServer: worker })).toEqual({
      displayName: 'b',
      jobSpec: {
        workerPoolSpecs: [
          {
            machineSpec: { machineType: 'n1-standard-4' },
            replicaCount: 1,
            containerSpec: { imageUri: 'gcr.io/a/b', args: ['-x'] },
          },
          {},
          { machineSpec: { machineType: 'n1-standard-8' }, replicaCount: 2 },
        ],
      },
    });
  });

  it("fill the Python packages of all of a Vertex AI job's pools, and of no container", () => {
    const python = '{executorImageUri: us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-11:latest, pythonModule: a.b}';
    const pools = [
      `{machineSpec: {machineType: n1-standard-4}, replicaCount: 1, pythonPackageSpec: ${python}}`,
      `{machineSpec: {machineType: n1-standard-4}, replicaCount: 2, pythonPackageSpec: ${python}}`,
      '{machineSpec: {machineType: n1-standard-4}, replicaCount: 1, containerSpec: {imageUri: gcr.io/a/b}}',
    ];
    const printed = applyOverrides(read(`workerPoolSpecs: [${pools.join()}]`), { packageUris: ['gs://b/p.whl'] });
    expect(printed.pools.map(({ program }) => program.packageUris?.map(({ value }) => value))).toEqual([
      ['gs://b/p.whl'],
      ['gs://b/p.whl'],
      undefined,
    ]);
  });

  it("apply to Dropforge's own format as well", () => {
    const overrides = { jobId: 'b', masterAccelerator: { type: 'nvidia-tesla-t4', count: 1 }, args: ['-x'] };
    expect(printAfter('module: a.b\nmachine: n1-highmem-8\n', overrides)).toEqual({
      name: 'b',
      module: 'a.b',
      args: ['-x'],
      gpu: 'T4',
      machine: 'n1-highmem-8',
    });
    // The machine type that followed from the file's GPUs is replaced.
    const other = applyOverrides(read('module: a.b\ngpu: T4\n'), {
      masterAccelerator: { type: 'nvidia-l4', count: 1 },
    });
    expect(other.pools[0]?.machineType).toEqual({ value: 'g2-standard-8', path: '--master-accelerator' });
  });

  it('replace placeholders in the fields that they set, and no others', () => {
    const open = read('trainingInput: {workerCount: <N>, parameterServerCount: <M>}');
    expect(open.problems.map(({ path }) => path)).toEqual([
      'trainingInput.workerCount',
      'trainingInput.parameterServerCount',
    ]);
    const filled = applyOverrides(open, { worker: { machineType: 'n1-standard-8', count: 2 } });
    expect(filled.problems.map(({ path }) => path)).toEqual(['trainingInput.parameterServerCount']);
  });
});
