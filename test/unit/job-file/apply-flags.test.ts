import { describe, expect, it } from 'vitest';
import { applyOverrides, type TrainingOverrides } from '#shared/job-file/draft/apply-overrides.ts';
import { EMPTY_DRAFT, type JobDraft, listDraftValues } from '#shared/job-file/draft/job-draft.ts';
import { readJobFile } from '#shared/job-file/read-job-file.ts';

function read(text: string): JobDraft {
  return readJobFile(text, { fileName: 'job.yaml' }).draft ?? EMPTY_DRAFT;
}

/** The resulting values by their names in the draft. */
function valuesAfter(text: string, overrides: TrainingOverrides): unknown {
  const values = listDraftValues(applyOverrides(read(text), overrides));
  return Object.fromEntries(values.map(({ name, value }) => [name, value]));
}

const AI_PLATFORM = 'trainingInput: {scaleTier: CUSTOM, masterType: n1-standard-4, args: [--old]}';
const VERTEX =
  'workerPoolSpecs: [{machineSpec: {machineType: n1-standard-4}, replicaCount: 1, containerSpec: {imageUri: gcr.io/a/b}}]';

describe('flags over a job file', () => {
  it.each<[string, TrainingOverrides, object]>([
    ['the scale tier', { scaleTier: 'standard-1' }, { scaleTier: 'STANDARD_1' }],
    ['the machine of the master', { masterType: 'n1-highmem-8' }, { 'pools.master.machineType': 'n1-highmem-8' }],
    [
      'its GPUs',
      { masterAccelerator: { type: 'nvidia-tesla-t4', count: 2 } },
      { 'pools.master.accelerator.type': 'NVIDIA_TESLA_T4', 'pools.master.accelerator.count': 2 },
    ],
    ['its image', { masterImageUri: 'gcr.io/a/b' }, { 'pools.master.program.imageUri': 'gcr.io/a/b' }],
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
        'pools.worker.machineType': 'n1-standard-8',
        'pools.worker.count': 3,
        'pools.worker.accelerator.type': 'NVIDIA_TESLA_P4',
        'pools.worker.accelerator.count': 1,
        'pools.worker.program.imageUri': 'gcr.io/w',
      },
    ],
    [
      'parameter servers',
      { parameterServer: { machineType: 'n1-standard-8', count: 1 } },
      { 'pools.ps.machineType': 'n1-standard-8', 'pools.ps.count': 1 },
    ],
    ['the arguments, all together', { args: ['--new'] }, { 'pools.master.program.args.0': '--new' }],
    ['the packages', { packageUris: ['gs://b/p.whl'] }, { 'pools.master.program.packageUris.0': 'gs://b/p.whl' }],
    ['the region', { region: 'us-east1' }, { region: 'us-east1' }],
    ['the job directory', { jobDir: 'gs://b/out' }, { jobDir: 'gs://b/out' }],
    [
      'the versions',
      { runtimeVersion: '2.11', pythonVersion: '3.7' },
      { runtimeVersion: '2.11', pythonVersion: '3.7' },
    ],
    ['the account', { serviceAccount: 'a@b.c' }, { serviceAccount: 'a@b.c' }],
    ['the network', { network: 'projects/p/global/networks/n' }, { network: 'projects/p/global/networks/n' }],
    ['the key', { kmsKeyName: 'projects/p/key' }, { kmsKeyName: 'projects/p/key' }],
  ])('replace %s', (_, overrides, fields) => {
    const file = {
      scaleTier: 'CUSTOM',
      'pools.master.machineType': 'n1-standard-4',
      'pools.master.program.args.0': '--old',
    };
    expect(valuesAfter(AI_PLATFORM, overrides)).toEqual({ ...file, ...fields });
  });

  it('replace labels', () => {
    expect(valuesAfter('jobId: a\nlabels: {x: y}\ntrainingInput: {}', { labels: { p: 'q' } })).toEqual({
      jobId: 'a',
      'labels.0': { key: 'p', text: 'q' },
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

  it('keep the pools of a Vertex AI job in position, and pass arguments to its container', () => {
    const parameterServer = { machineType: 'n1-standard-8', count: 2 };
    const { pools } = applyOverrides(read(VERTEX), { args: ['-x'], parameterServer });
    expect(pools.map(({ role, machineType }) => [role, machineType?.value])).toEqual([
      ['master', 'n1-standard-4'],
      ['worker', undefined],
      ['ps', 'n1-standard-8'],
    ]);
    expect(pools[0]?.program).toMatchObject({ imageUri: { value: 'gcr.io/a/b' }, containerArgs: [{ value: '-x' }] });
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
    const overrides = { masterAccelerator: { type: 'nvidia-tesla-t4', count: 1 }, args: ['-x'] };
    expect(valuesAfter('module: a.b\nmachine: n1-highmem-8\n', overrides)).toEqual({
      'pools.master.program.pythonModule': 'a.b',
      'pools.master.program.args.0': '-x',
      'pools.master.accelerator.type': 'NVIDIA_TESLA_T4',
      'pools.master.accelerator.count': 1,
      'pools.master.machineType': 'n1-highmem-8',
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
