import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Problem } from '#shared/protocol/report.ts';
import { isVertexField, readVertexJob } from '#shared/spec/dialects/read-vertex.ts';
import { emptyPool } from '#shared/spec/job-draft.ts';
import { createFindings } from '#shared/spec/source/findings.ts';
import { parseSource } from '#shared/spec/source/parse-source.ts';
import { withoutPlaces } from './vertex-draft-arbitrary.ts';

const FOLDER = new URL('../../fixtures/job-files/', import.meta.url);

/** Code, field and line of each finding, in the order in which they are met. */
type Expected = {
  readonly problems?: readonly string[];
  readonly warnings?: readonly string[];
  readonly unsupported?: readonly string[];
};

const FILES: Readonly<Record<string, Expected>> = {
  'vertex-all-fields.yaml': {},
  'vertex-snake-case.yaml': {},
  'vertex-tuning.yaml': {},
  'vertex-as-returned.json': { warnings: ['JOB_RESOURCE name:2'] },
  'vertex-request.json': {},
  'vertex-tuning-request.json': { warnings: ['REQUEST_ENVELOPE hyperparameterTuningJob:2'] },
  'vertex-template.yaml': {
    problems: [
      'PLACEHOLDER workerPoolSpecs[0].replicaCount:6',
      'PLACEHOLDER workerPoolSpecs[0].machineSpec.acceleratorCount:5',
    ],
    warnings: ['LIST_OF_ONE workerPoolSpecs:2', 'LIST_OF_ONE workerPoolSpecs[0].pythonPackageSpec.packageUris:9'],
  },
  'vertex-five-pools.yaml': { problems: ['TOO_MANY_POOLS workerPoolSpecs[4]:6'] },
  'vertex-programs.yaml': {
    problems: ['POOL_PROGRAM workerPoolSpecs[0]:5', 'POOL_PROGRAM workerPoolSpecs[1]:6'],
    warnings: ['EMPTY_FIELD workerPoolSpecs[1].pythonPackageSpec:8'],
  },
  'vertex-environment.yaml': {
    problems: [
      'INVALID_ENVIRONMENT workerPoolSpecs[0].containerSpec.env[1].name:8',
      'INVALID_ENVIRONMENT workerPoolSpecs[0].containerSpec.env[2].name:9',
      'INVALID_ENVIRONMENT workerPoolSpecs[0].containerSpec.env[4]:11',
      'PLACEHOLDER workerPoolSpecs[0].containerSpec.env[5].name:12',
      'INVALID_ENVIRONMENT workerPoolSpecs[0].containerSpec.env[3]:10',
    ],
  },
  'vertex-unsupported.yaml': {
    unsupported: [
      'UNSUPPORTED_FIELD persistentResourceId:7',
      'UNSUPPORTED_FIELD pscInterfaceConfig:8',
      'UNSUPPORTED_FIELD models:9',
      'UNSUPPORTED_FIELD workerPoolSpecs[0].nfsMounts:4',
      'UNSUPPORTED_FIELD workerPoolSpecs[0].lustreMounts:5',
      'UNSUPPORTED_FIELD workerPoolSpecs[0].machineSpec.gpuPartitionSize:2',
    ],
  },
  'vertex-without-effect.yaml': {
    warnings: [
      'FIELD_WITHOUT_EFFECT trialJobSpec.tensorboard:14',
      'FIELD_WITHOUT_EFFECT trialJobSpec.experiment:15',
      'FIELD_WITHOUT_EFFECT trialJobSpec.experimentRun:16',
      'FIELD_WITHOUT_EFFECT trialJobSpec.enableWebAccess:17',
      'FIELD_WITHOUT_EFFECT trialJobSpec.enableDashboardAccess:18',
      'FIELD_WITHOUT_EFFECT trialJobSpec.protectedArtifactLocationId:19',
      'FIELD_WITHOUT_EFFECT trialJobSpec.reservedIpRanges:20',
      'FIELD_WITHOUT_EFFECT trialJobSpec.scheduling.disableRetries:13',
      'FIELD_WITHOUT_EFFECT trialJobSpec.scheduling.restartJobOnWorkerRestart:13',
      'FIELD_WITHOUT_EFFECT studySpec.observationNoise:3',
      'FIELD_WITHOUT_EFFECT studySpec.parameters[0].doubleValueSpec.defaultValue:6',
      'FIELD_WITHOUT_EFFECT studySpec.parameters[1].categoricalValueSpec.defaultValue:7',
    ],
  },
  'vertex-study-problems.yaml': {
    problems: [
      'UNKNOWN_FIELD studySpec.maxTrialCount:5',
      'EARLY_STOPPING studySpec.medianAutomatedStoppingSpec:4',
      'PARAMETER_SPACE studySpec.parameters[0]:7',
      'PARAMETER_SPACE studySpec.parameters[1]:10',
      'PARENT_VALUES studySpec.parameters[2].conditionalParameterSpecs[0]:14',
      'MISSING_FIELD studySpec.parameters[2].conditionalParameterSpecs[1].parameterSpec:16',
      'WRONG_TYPE studySpec.parameters[3].doubleValueSpec.minValue:18',
      'PARENT_VALUES studySpec.parameters[3].conditionalParameterSpecs[0]:20',
    ],
    warnings: ['LIST_OF_ONE studySpec.metrics:2'],
  },
  'vertex-slipped.yaml': {
    problems: [
      'UNKNOWN_FIELD displayName:1',
      'UNKNOWN_FIELD timeout:8',
      'UNKNOWN_FIELD workerPoolSpecs[0].imageUri:5',
      'UNKNOWN_FIELD workerPoolSpecs[0].diskSpecs:6',
    ],
  },
};

function read(text: string) {
  const { root } = parseSource(text, 'job.yaml');
  const findings = createFindings();
  const node = root ?? { kind: 'SCALAR', line: 1, value: null, text: '' };
  return { draft: readVertexJob({ path: '', node }, findings), ...findings };
}

function readFile(file: string) {
  return read(readFileSync(new URL(file, FOLDER), 'utf8'));
}

function summarize({ code, path, line }: Problem): string {
  return `${code} ${path ?? ''}${line === undefined ? '' : `:${line}`}`;
}

describe('jobs of Vertex AI', () => {
  it('has a reading for every fixture of this dialect', () => {
    const names = readdirSync(FOLDER).filter((name) => name.startsWith('vertex-'));
    expect(names.sort()).toEqual(Object.keys(FILES).sort());
  });

  it.each(Object.entries(FILES))('%s: finds just what is wrong with its form, and where', (file, expected) => {
    const { problems, warnings, unsupported } = readFile(file);
    expect({
      problems: problems.map(summarize),
      warnings: warnings.map(summarize),
      unsupported: unsupported.map(summarize),
    }).toEqual({ problems: [], warnings: [], unsupported: [], ...expected });
  });

  it.each(Object.keys(FILES))('%s: says of each finding what happened and what to do, in full sentences', (file) => {
    const { problems, warnings, unsupported } = readFile(file);
    for (const { message, remedy } of [...problems, ...warnings, ...unsupported]) {
      expect(message).toMatch(/[.)]$/);
      expect(remedy).toMatch(/[.)]$/);
      expect(`${message} ${remedy}`).not.toMatch(/undefined|\[object/);
    }
  });

  it.each([
    ['workerPoolSpecs', true],
    ['jobSpec', true],
    ['trialJobSpec', true],
    ['hyperparameterTuningJob', true],
    ['trainingInput', false],
    ['scheduling', false],
    ['worker_pool_specs', false],
  ])('are known by their fields: %s, %s', (name, isKnown) => {
    expect(isVertexField(name)).toBe(isKnown);
  });

  it('have no field of which nothing is known: another one is refused, with where it belongs or what was meant', () => {
    const remedies = readFile('vertex-slipped.yaml').problems.map(({ remedy }) => remedy);
    expect(remedies[0]).toContain('the job itself, beside its jobSpec or trialJobSpec');
    expect(remedies[1]).toContain('scheduling');
    expect(remedies[2]).toContain('workerPoolSpecs[0].containerSpec');
    expect(remedies[3]).toContain('"diskSpec"');
    expect(readFile('vertex-study-problems.yaml').problems[0]?.remedy).toContain('beside studySpec');
  });
});

describe('a job spec', () => {
  it('gives every field to the draft, and pools by their places', () => {
    const { draft } = readFile('vertex-all-fields.yaml');
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
      study: undefined,
    });
  });

  it('gives a pool its machine, disk and reservation', () => {
    expect(withoutPlaces(readFile('vertex-all-fields.yaml').draft.pools[0])).toMatchObject({
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
    expect(readFile('vertex-all-fields.yaml').draft.pools[2]?.tpuTopology?.value).toBe('2x2');
  });

  it('keeps the arguments of a package and of a container apart', () => {
    const [master, , ps] = readFile('vertex-all-fields.yaml').draft.pools;
    expect(withoutPlaces(master?.program)).toEqual({
      executorImageUri: { value: 'us-docker.pkg.dev/vertex-ai/training/tf-gpu.2-11.py310:latest' },
      packageUris: [{ value: 'gs://lab-code/deps-1.0.whl' }, { value: 'gs://lab-code/birds-0.3.tar.gz' }],
      pythonModule: { value: 'birds.train' },
      args: [{ value: '--epochs' }, { value: '5' }, { value: '--rate=1e-3' }],
      environment: [{ value: { key: 'BIRDS_CACHE', text: '/tmp/birds' } }, { value: { key: 'BIRDS_SEED', text: '7' } }],
    });
    expect(withoutPlaces(ps?.program)).toEqual({
      imageUri: { value: 'europe-docker.pkg.dev/lab/images/serve:1' },
      command: [{ value: 'python3' }, { value: '-m' }, { value: 'serve' }],
      containerArgs: [{ value: '--port' }, { value: '2222' }],
      environment: [{ value: { key: 'ROLE', text: 'ps' } }],
    });
  });

  it('reads as the job around it does, in camelCase and snake_case, but for how long it waits', () => {
    const { draft } = readFile('vertex-as-returned.json');
    const bare = { ...draft, displayName: undefined, labels: [], kmsKeyName: undefined };
    const { draft: snakeCase } = readFile('vertex-snake-case.yaml');
    expect(snakeCase.maxWaitTime?.value).toBe('0s');
    expect(withoutPlaces(bare)).toEqual(withoutPlaces({ ...snakeCase, maxWaitTime: undefined }));
    expect(withoutPlaces(draft)).toMatchObject({
      displayName: { value: 'birds, third try' },
      labels: [{ value: { key: 'team', text: 'birds' } }],
      kmsKeyName: { value: 'projects/lab/locations/us-central1/keyRings/r/cryptoKeys/k' },
    });
    expect(draft.pools[0]?.path).toBe('jobSpec.workerPoolSpecs[0]');
  });

  it('keeps the placeholders of counts, for the flags of a submission may still fill them', () => {
    const [pool] = readFile('vertex-template.yaml').draft.pools;
    expect(pool?.count?.value).toBe('REPLICA_COUNT');
    expect(pool?.accelerator.count?.value).toBe('ACCELERATOR_COUNT');
    expect(pool?.program.packageUris?.map(({ value }) => value)).toEqual([expect.stringMatching(/birds\.tar\.gz$/)]);
  });

  it('takes a hundred environment variables, and no more', () => {
    const withVariables = (count: number) => {
      const env = Array.from({ length: count }, (_, index) => ({ name: `V${index}`, value: '' }));
      return read(JSON.stringify({ workerPoolSpecs: [{ pythonPackageSpec: { env } }] }));
    };
    expect(withVariables(100).problems).toEqual([]);
    expect(withVariables(101).problems.map(({ code }) => code)).toEqual(['INVALID_ENVIRONMENT']);
  });

  it.each(['{}', '[]', 'null', 'jobSpec:', 'customJob: []', 'workerPoolSpecs: [[], x]', 'studySpec: {metrics: [3]}'])(
    'is nothing, and no throw, where nothing usable stands: %s',
    (text) => {
      expect(read(text).draft).toMatchObject({ dialect: 'vertex-ai', jobDir: undefined });
    },
  );
});

describe('a tuning job', () => {
  it('gives its study to the draft', () => {
    const { study } = readFile('vertex-tuning.yaml').draft;
    expect(study?.path).toBe('studySpec');
    expect(withoutPlaces(study)).toMatchObject({
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

  it('gives parameters of all four kinds, with what depends on them', () => {
    const parameters = readFile('vertex-tuning.yaml').draft.study?.parameters;
    const kinds = parameters?.map(({ id, kind }) => [id?.value, kind?.value]);
    expect(kinds).toEqual([
      ['rate', 'DOUBLE'],
      ['layers', 'INTEGER'],
      ['optimizer', 'CATEGORICAL'],
      ['batch', 'DISCRETE'],
    ]);
    expect(withoutPlaces(parameters?.[0])).toMatchObject({
      min: { value: 0.00001 },
      max: { value: 0.1 },
      scale: { value: 'UNIT_LOG_SCALE' },
      children: [],
    });
    expect(withoutPlaces(parameters?.[1]?.children)).toEqual([
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

  it('has a study even where nothing is said of it, so that what is missing can be shown', () => {
    const { draft } = readFile('vertex-tuning-request.json');
    expect(draft.study).toMatchObject({
      path: 'hyperparameterTuningJob.studySpec',
      metrics: [],
      parameters: undefined,
      maxTrials: { value: 8 },
    });
    expect(draft.pools[0]?.path).toBe('hyperparameterTuningJob.trialJobSpec.workerPoolSpecs[0]');
  });

  it('and a job in one request are two jobs', () => {
    const { problems } = read('{customJob: {jobSpec: {}}, hyperparameterTuningJob: {studySpec: {}}}');
    expect(problems.map(({ code }) => code)).toEqual(['TWO_JOBS']);
  });
});
