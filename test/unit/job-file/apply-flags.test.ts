import { describe, expect, it } from 'vitest';
import { EMPTY_DRAFT, type JobDraft, listDraftValues } from '#shared/job-file/draft/job-draft.ts';
import { applyFlags } from '#shared/job-file/flags/apply-flags.ts';
import { readJobFile } from '#shared/job-file/read-job-file.ts';

function read(text: string): JobDraft {
  return readJobFile(text, { fileName: 'job.yaml' }).draft ?? EMPTY_DRAFT;
}

function apply(draft: JobDraft, flags: readonly string[]): JobDraft {
  return applyFlags(draft, { command: 'jobs submit training', flags });
}

/** The resulting values by their names in the draft. */
function valuesAfter(text: string, flags: readonly string[]): unknown {
  const values = listDraftValues(apply(read(text), flags));
  return Object.fromEntries(values.map(({ name, value }) => [name, value]));
}

const AI_PLATFORM = 'trainingInput: {scaleTier: CUSTOM, masterType: n1-standard-4, args: [--old]}';
const VERTEX =
  'workerPoolSpecs: [{machineSpec: {machineType: n1-standard-4}, replicaCount: 1, containerSpec: {imageUri: gcr.io/a/b}}]';

describe('flags over a job file', () => {
  it.each<[string, readonly string[], object]>([
    ['the scale tier', ['--scale-tier=standard-1'], { scaleTier: 'STANDARD_1' }],
    [
      'the machine of the master',
      ['--master-machine-type=n1-highmem-8'],
      { 'pools.master.machineType': 'n1-highmem-8' },
    ],
    [
      'its GPUs',
      ['--master-accelerator=type=nvidia-tesla-t4,count=2'],
      { 'pools.master.accelerator.type': 'NVIDIA_TESLA_T4', 'pools.master.accelerator.count': 2 },
    ],
    ['its image', ['--master-image-uri=gcr.io/a/b'], { 'pools.master.program.imageUri': 'gcr.io/a/b' }],
    [
      'workers',
      [
        ...['--worker-machine-type=n1-standard-8', '--worker-count=3', '--worker-image-uri=gcr.io/w'],
        '--worker-accelerator=type=NVIDIA_TESLA_P4',
      ],
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
      ['--parameter-server-machine-type=n1-standard-8', '--parameter-server-count=1'],
      { 'pools.ps.machineType': 'n1-standard-8', 'pools.ps.count': 1 },
    ],
    ['the arguments, all together', ['--', '--new'], { 'pools.master.program.args.0': '--new' }],
    ['the packages', ['--packages=gs://b/p.whl'], { 'pools.master.program.packageUris.0': 'gs://b/p.whl' }],
    ['the region', ['--region=us-east1'], { region: 'us-east1' }],
    ['the job directory', ['--job-dir=gs://b/out'], { jobDir: 'gs://b/out' }],
    [
      'the versions',
      ['--runtime-version=2.11', '--python-version=3.7'],
      { runtimeVersion: '2.11', pythonVersion: '3.7' },
    ],
    ['the account', ['--service-account=a@b.c'], { serviceAccount: 'a@b.c' }],
    ['the network', ['--network=projects/p/global/networks/n'], { network: 'projects/p/global/networks/n' }],
    ['the key', ['--kms-key=projects/p/key'], { kmsKeyName: 'projects/p/key' }],
  ])('replace %s', (_, flags, fields) => {
    const file = {
      scaleTier: 'CUSTOM',
      'pools.master.machineType': 'n1-standard-4',
      'pools.master.program.args.0': '--old',
    };
    expect(valuesAfter(AI_PLATFORM, flags)).toEqual({ ...file, ...fields });
  });

  it('replace labels', () => {
    expect(valuesAfter('jobId: a\nlabels: {x: y}\ntrainingInput: {}', ['--labels=p=q'])).toEqual({
      jobId: 'a',
      'labels.0': { key: 'p', text: 'q' },
    });
  });

  it('leave a file unchanged if none is given', () => {
    expect(apply(read(VERTEX), [])).toEqual(read(VERTEX));
  });

  it('locate every value at its flag', () => {
    const { pools } = apply(EMPTY_DRAFT, [
      ...['--master-machine-type=m', '--worker-machine-type=w', '--worker-count=1'],
    ]);
    expect(pools.map(({ machineType, count }) => [machineType?.path, count?.path])).toEqual([
      ['--master-machine-type', undefined],
      ['--worker-machine-type', '--worker-count'],
    ]);
  });

  it('keep the pools of a Vertex AI job in position, and pass arguments to its container', () => {
    const flags = ['--parameter-server-machine-type=n1-standard-8', '--parameter-server-count=2', '--', '-x'];
    const { pools } = apply(read(VERTEX), flags);
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
    const printed = apply(read(`workerPoolSpecs: [${pools.join()}]`), ['--packages=gs://b/p.whl']);
    expect(printed.pools.map(({ program }) => program.packageUris?.map(({ value }) => value))).toEqual([
      ['gs://b/p.whl'],
      ['gs://b/p.whl'],
      undefined,
    ]);
  });

  it("apply to Dropforge's own format as well", () => {
    const flags = ['--master-accelerator=type=nvidia-tesla-t4', '--', '-x'];
    expect(valuesAfter('module: a.b\nmachine: n1-highmem-8\n', flags)).toEqual({
      'pools.master.program.pythonModule': 'a.b',
      'pools.master.program.args.0': '-x',
      'pools.master.accelerator.type': 'NVIDIA_TESLA_T4',
      'pools.master.accelerator.count': 1,
      'pools.master.machineType': 'n1-highmem-8',
    });
    // The machine type that followed from the file's GPUs is replaced.
    const other = apply(read('module: a.b\ngpu: T4\n'), ['--master-accelerator=type=nvidia-l4,count=1']);
    expect(other.pools[0]?.machineType).toEqual({ value: 'g2-standard-8', path: '--master-accelerator' });
  });

  it('replace placeholders in the fields that they set, and no others', () => {
    const open = read('trainingInput: {workerCount: <N>, parameterServerCount: <M>}');
    expect(open.problems.map(({ path }) => path)).toEqual([
      'trainingInput.workerCount',
      'trainingInput.parameterServerCount',
    ]);
    const filled = apply(open, ['--worker-machine-type=n1-standard-8', '--worker-count=2']);
    expect(filled.problems.map(({ path }) => path)).toEqual(['trainingInput.parameterServerCount']);
  });
});
