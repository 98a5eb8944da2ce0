import { describe, expect, it } from 'vitest';
import { emptyPool } from '#shared/job-file/draft/job-draft.ts';
import { readVertex, readVertexFile } from '../../support/job-file/vertex-files.ts';
import { withoutLocations } from '../../support/job-file/without-locations.ts';

describe('a job spec', () => {
  it('is read with every field, and with roles by the position of pools', () => {
    const { draft } = readVertexFile('vertex-all-fields.yaml');
    expect(draft.pools.map(({ role, path }) => [role, path])).toEqual([
      ['master', 'workerPoolSpecs[0]'],
      ['worker', 'workerPoolSpecs[1]'],
      ['ps', 'workerPoolSpecs[2]'],
      ['evaluator', 'workerPoolSpecs[3]'],
    ]);
    expect(draft.pools[1]).toEqual(emptyPool('worker', 'workerPoolSpecs[1]'));
    expect(draft.pools[3]).toEqual(emptyPool('evaluator', 'workerPoolSpecs[3]'));
    expect(draft).toMatchObject({
      dialect: 'vertex-ai',
      jobDir: { value: 'gs://lab-out/birds', path: 'baseOutputDirectory.outputUriPrefix', line: 36 },
      maxRunningTime: { value: '7200s', path: 'scheduling.timeout', line: 31 },
      maxWaitTime: { value: '1800s' },
      strategy: { value: 'FLEX_START' },
      serviceAccount: { value: 'trainer@lab.iam.gserviceaccount.com' },
      network: { value: 'projects/12345/global/networks/lab' },
    });
    expect(draft.study).toBeUndefined();
  });

  it('has pools with machine, disk and reservation', () => {
    expect(withoutLocations(readVertexFile('vertex-all-fields.yaml').draft.pools[0])).toMatchObject({
      count: { value: 1 },
      machineType: { value: 'a2-highgpu-2g' },
      accelerator: { type: { value: 'NVIDIA_TESLA_A100' }, count: { value: 2 } },
      bootDiskGib: { value: 300 },
      bootDiskType: { value: 'pd-ssd' },
      reservation: {
        type: { value: 'SPECIFIC_RESERVATION' },
        key: { value: 'compute.googleapis.com/reservation-name' },
        values: [{ value: 'projects/lab/zones/us-central1-a/reservations/night' }],
      },
    });
    expect(readVertexFile('vertex-all-fields.yaml').draft.pools[2]?.tpuTopology?.value).toBe('2x2');
  });

  it('has separate arguments for a package and a container', () => {
    const [master, , ps] = readVertexFile('vertex-all-fields.yaml').draft.pools;
    expect(withoutLocations(master?.program)).toEqual({
      executorImageUri: { value: 'us-docker.pkg.dev/vertex-ai/training/tf-gpu.2-11.py310:latest' },
      packageUris: [{ value: 'gs://lab-code/deps-1.0.whl' }, { value: 'gs://lab-code/birds-0.3.tar.gz' }],
      pythonModule: { value: 'birds.train' },
      args: [{ value: '--epochs' }, { value: '5' }, { value: '--rate=1e-3' }],
      environment: [{ value: { key: 'BIRDS_CACHE', text: '/tmp/birds' } }, { value: { key: 'BIRDS_SEED', text: '7' } }],
    });
    expect(withoutLocations(ps?.program)).toEqual({
      imageUri: { value: 'europe-docker.pkg.dev/lab/images/serve:1' },
      command: [{ value: 'python3' }, { value: '-m' }, { value: 'serve' }],
      containerArgs: [{ value: '--port' }, { value: '2222' }],
      environment: [{ value: { key: 'ROLE', text: 'ps' } }],
    });
  });

  it('reads as the job that contains it, in camelCase and snake_case, except for the waiting time', () => {
    const { draft } = readVertexFile('vertex-as-returned.json');
    const bare = { ...draft, displayName: undefined, labels: [], kmsKeyName: undefined };
    const { draft: snakeCase } = readVertexFile('vertex-snake-case.yaml');
    expect(snakeCase.maxWaitTime?.value).toBe('0s');
    expect(withoutLocations(bare)).toEqual(withoutLocations({ ...snakeCase, maxWaitTime: undefined }));
    expect(withoutLocations(draft)).toMatchObject({
      displayName: { value: 'birds, third try' },
      labels: [{ value: { key: 'team', text: 'birds' } }],
      kmsKeyName: { value: 'projects/lab/locations/us-central1/keyRings/r/cryptoKeys/k' },
    });
    expect(draft.pools[0]?.path).toBe('jobSpec.workerPoolSpecs[0]');
  });

  it('keeps placeholders of counts, which flags may still replace', () => {
    const [pool] = readVertexFile('vertex-template.yaml').draft.pools;
    expect(pool?.count?.value).toBe('REPLICA_COUNT');
    expect(pool?.accelerator.count?.value).toBe('ACCELERATOR_COUNT');
    expect(pool?.program.packageUris?.map(({ value }) => value)).toEqual([expect.stringMatching(/birds\.tar\.gz$/)]);
  });

  it('accepts at most 100 environment variables', () => {
    const withVariables = (count: number) => {
      const env = Array.from({ length: count }, (_, index) => ({ name: `V${index}`, value: '' }));
      return readVertex(JSON.stringify({ workerPoolSpecs: [{ pythonPackageSpec: { env } }] }));
    };
    expect(withVariables(100).problems).toEqual([]);
    expect(withVariables(101).problems.map(({ code }) => code)).toEqual(['INVALID_ENVIRONMENT']);
  });

  it.each(['{}', '[]', 'null', 'jobSpec:', 'customJob: []', 'workerPoolSpecs: [[], x]', 'studySpec: {metrics: [3]}'])(
    'is empty if no value can be read: %s',
    (text) => {
      const { draft } = readVertex(text);
      expect([draft.dialect, draft.jobDir]).toEqual(['vertex-ai', undefined]);
    },
  );
});

describe('a tuning job', () => {
  it('is read with its study', () => {
    const { study } = readVertexFile('vertex-tuning.yaml').draft;
    expect(study?.path).toBe('studySpec');
    expect(withoutLocations(study)).toMatchObject({
      maxTrials: { value: 12 },
      parallelTrials: { value: 3 },
      maxFailedTrials: { value: 2 },
      algorithm: { value: 'RANDOM_SEARCH' },
      measurement: { value: 'BEST_MEASUREMENT' },
      metrics: [
        { id: { value: 'accuracy' }, goal: { value: 'MAXIMIZE' } },
        { id: { value: 'latency' }, safetyThreshold: { value: 0.25 }, safeTrialsFractionMin: { value: 0.9 } },
        { id: { value: 'leaks' }, safetyThreshold: { value: 0 } },
      ],
      earlyStopping: {
        rule: { value: 'CONVEX' },
        usesElapsedTime: { value: true },
        stepsMax: { value: 1000 },
        stepsMin: { value: 10 },
        measurementsMin: { value: 3 },
        learningRateParameterId: { value: 'rate' },
        updatesAllStoppedTrials: { value: false },
      },
      stopping: {
        stopsRunningTrials: { value: true },
        minimumRuntime: { maxDuration: { value: '600s' } },
        maximumRuntime: { endTime: { value: '2027-01-01T00:00:00Z' } },
        trialsMin: { value: 4 },
        trialsMax: { value: 10 },
        trialsWithoutProgressMax: { value: 5 },
        withoutProgressMax: { value: '3600s' },
      },
    });
    expect(study?.metrics[0]?.safetyThreshold).toBeUndefined();
  });

  it('has parameters of all four kinds, with their conditional parameters', () => {
    const parameters = readVertexFile('vertex-tuning.yaml').draft.study?.parameters;
    const kinds = parameters?.map(({ id, kind }) => [id?.value, kind?.value]);
    expect(kinds).toEqual([
      ['rate', 'DOUBLE'],
      ['layers', 'INTEGER'],
      ['optimizer', 'CATEGORICAL'],
      ['batch', 'DISCRETE'],
    ]);
    expect(withoutLocations(parameters?.[0])).toMatchObject({
      min: { value: 0.00001 },
      max: { value: 0.1 },
      scale: { value: 'UNIT_LOG_SCALE' },
      children: [],
    });
    expect(withoutLocations(parameters?.[1]?.children)).toEqual([
      {
        parentValues: [{ value: '7' }, { value: '8' }],
        parameter: {
          id: { value: 'dropout' },
          kind: { value: 'DISCRETE' },
          values: [{ value: '0.1' }, { value: '0.50' }],
          children: [],
        },
      },
    ]);
    expect(parameters?.[2]?.children[0]?.parameter.id?.value).toBe('momentum');
    expect(parameters?.[3]?.children[0]?.parentValues[0]?.value).toBe('32');
  });

  it('has the categories beside a range, so that they are reported', () => {
    const parameter = '{doubleValueSpec: {minValue: 1, maxValue: 2}, categoricalValueSpec: {values: [a]}}';
    const { draft, problems } = readVertex(`studySpec: {parameters: [${parameter}]}`);
    expect(problems.map(({ code }) => code)).toEqual(['PARAMETER_SPACE']);
    expect(draft.study?.parameters).toMatchObject([{ kind: { value: 'DOUBLE' }, values: [{ value: 'a' }] }]);
  });

  it('reports a second range, and not what is wrong in it', () => {
    const parameter = '{doubleValueSpec: {minValue: 1, maxValue: 2}, integerValueSpec: {minValue: [1]}}';
    const { problems } = readVertex(`studySpec: {parameters: [${parameter}]}`);
    expect(problems.map(({ code }) => code)).toEqual(['PARAMETER_SPACE']);
  });

  it('has a study even if its fields are absent, so that they can be reported as missing', () => {
    const { draft } = readVertexFile('vertex-tuning-request.json');
    expect(draft.study).toMatchObject({
      path: 'hyperparameterTuningJob.studySpec',
      metrics: [],
      maxTrials: { value: 8 },
    });
    expect(draft.study?.parameters ?? []).toEqual([]);
    expect(draft.pools[0]?.path).toBe('hyperparameterTuningJob.trialJobSpec.workerPoolSpecs[0]');
  });

  it('in a request with another job is rejected', () => {
    const { problems } = readVertex('{customJob: {jobSpec: {}}, hyperparameterTuningJob: {studySpec: {}}}');
    expect(problems.map(({ code }) => code)).toEqual(['TWO_JOBS']);
  });
});
