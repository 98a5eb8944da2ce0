import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCatalog, toAcceleratorEnum } from '#shared/catalog/catalog.ts';
import type { Problem } from '#shared/protocol/report.ts';
import { JOB } from '#shared/spec/dialects/dropforge-fields.ts';
import { parseGpus } from '#shared/spec/dialects/dropforge-values.ts';
import { isJobField, isTrainingInputField } from '#shared/spec/dialects/read-ai-platform.ts';
import { isDropforgeField } from '#shared/spec/dialects/read-dropforge.ts';
import { masterOf } from '#shared/spec/job-draft.ts';
import { describeProblem } from './describe-problem.ts';
import { fixture, printYaml, readOwn, SOUND_FILES, valuesOf } from './read-own-job.ts';

function summarize({ code, path, line }: Problem): string {
  return `${code} ${path}:${line}`;
}

function firstOf(text: string): unknown {
  return valuesOf(masterOf(readOwn(text).draft));
}

describe('reading Dropforge’s own form', () => {
  it.each(SOUND_FILES)('%s: finds nothing wrong', (file) => {
    const { problems, warnings, unsupported } = readOwn(fixture(file));
    expect([problems, warnings, unsupported]).toEqual([[], [], []]);
  });

  it('reads every field, and what it says where it stands', () => {
    const { draft } = readOwn(fixture('own-all-fields.yaml'));
    expect(draft).toMatchObject({
      dialect: 'dropforge',
      jobId: { value: 'first_run', path: 'name', line: 1 },
      region: { value: 'europe-west4', path: 'region', line: 11 },
      jobDir: { value: 'gs://my-bucket/runs/first', path: 'output', line: 12 },
      maxRunningTime: { value: '43200s', path: 'maxRuntime', line: 13 },
      maxWaitTime: { value: '5400s', path: 'maxWait', line: 14 },
      strategy: { value: 'SPOT', path: 'spot', line: 10 },
      restartsMax: { value: 2, path: 'retries' },
      runtimeVersion: { value: '2.10', path: 'runtime' },
      pythonVersion: { value: '3.10', path: 'python' },
      serviceAccount: { value: 'trainer@my-project.iam.gserviceaccount.com' },
      network: { value: 'projects/my-project/global/networks/training' },
      kmsKeyName: { path: 'kmsKey', line: 23 },
      labels: [{ value: { key: 'team', text: 'vision' } }, { value: { key: 'run', text: '42' } }],
      scaleTier: undefined,
      study: undefined,
    });
    const machine = {
      machineType: 'n1-standard-32',
      accelerator: { type: 'NVIDIA_TESLA_T4', count: 2 },
      bootDiskGib: 200,
      bootDiskType: 'pd-standard',
      reservation: { type: 'NO_RESERVATION', values: [] },
    };
    expect(valuesOf(draft.pools)).toEqual([
      {
        role: 'master',
        ...machine,
        program: {
          pythonModule: 'trainer.task',
          args: ['--epochs', '10', '--dropout', '0.10', '--flag=true', ''],
          packageUris: ['dist/trainer-0.1.tar.gz', 'gs://my-bucket/deps/data-1.0-py3-none-any.whl'],
          environment: [
            { key: 'NCCL_DEBUG', text: 'INFO' },
            { key: 'OMP_NUM_THREADS', text: '4' },
            { key: 'EMPTY', text: '' },
          ],
        },
      },
      { role: 'worker', count: 3, ...machine, program: { environment: [] } },
    ]);
  });

  it('makes flags of a mapping of arguments', () => {
    expect(firstOf(fixture('own-container.yaml'))).toMatchObject({
      machineType: 'a2-ultragpu-1g',
      program: {
        imageUri: 'europe-west4-docker.pkg.dev/my-project/images/trainer:1',
        command: ['python', 'train.py'],
        args: ['--epochs=10', '--learning-rate=1e-5', '--verbose', '--name=true'],
      },
    });
  });

  it('gives groups the first machine, or their own with nothing of that machine’s but the disk', () => {
    const [, ...groups] = readOwn(fixture('own-cluster.yaml')).draft.pools;
    const reservation = {
      type: 'SPECIFIC_RESERVATION',
      key: 'compute.googleapis.com/reservation-name',
      values: ['a', 'b'].map((zone) => `projects/my-project/zones/europe-west4-${zone}/reservations/gpus`),
    };
    const a100 = { machineType: 'a2-highgpu-8g', accelerator: { type: 'NVIDIA_TESLA_A100', count: 8 } };
    const l4 = { machineType: 'g2-standard-24', accelerator: { type: 'NVIDIA_L4', count: 2 } };
    const program = { environment: [] };
    expect(valuesOf(groups)).toEqual([
      { role: 'worker', count: 3, ...a100, bootDiskType: 'pd-ssd', reservation, program },
      { role: 'ps', count: 2, machineType: 'n1-highmem-8', accelerator: {}, bootDiskGib: 500, program },
      {
        role: 'evaluator',
        count: 1,
        ...l4,
        bootDiskGib: 500,
        reservation: { type: 'ANY_RESERVATION', values: [] },
        program,
      },
    ]);
  });

  it('reads tuning in the words of AI Platform', () => {
    const { study } = readOwn(fixture('own-tuning.yaml')).draft;
    expect(study).toMatchObject({
      path: 'tune',
      metrics: [{ id: { value: 'accuracy', path: 'tune.metric' }, goal: { value: 'MAXIMIZE', path: 'tune.goal' } }],
      algorithm: { value: 'RANDOM_SEARCH' },
      maxTrials: { value: 20 },
      parallelTrials: { value: 4 },
      earlyStopping: { rule: { value: 'AUTOMATIC', path: 'tune.earlyStopping' } },
    });
    const children: readonly never[] = [];
    expect(valuesOf(study?.parameters)).toEqual([
      { id: 'learning_rate', kind: 'DOUBLE', min: 1e-5, max: 0.1, scale: 'UNIT_LOG_SCALE', children },
      { id: 'layers', kind: 'INTEGER', min: 1, max: 8, children },
      { id: 'units', kind: 'DOUBLE', min: 1, max: 8, children },
      { id: 'momentum', kind: 'DOUBLE', min: 0.1, max: 1, scale: 'UNIT_REVERSE_LOG_SCALE', children },
      { id: 'batch_size', kind: 'DISCRETE', values: ['16', '32', '64'], children },
      { id: 'decay', kind: 'DISCRETE', values: ['0.001', '0.01', '1'], scale: 'UNIT_LOG_SCALE', children },
      { id: 'classes', kind: 'CATEGORICAL', values: ['1.0', '2'], children },
      { id: 'optimizer', kind: 'CATEGORICAL', values: ['adam', 'sgd'], children },
      { id: 'augment', kind: 'CATEGORICAL', values: ['true', 'false'], children },
      { id: 'depth', kind: 'CATEGORICAL', values: ['1', '2'], children },
    ]);
  });

  it('takes a metric for one to be maximised, and calls the Bayesian algorithm as AI Platform does', () => {
    const { study } = readOwn('module: a\ntune: {metric: auc, algorithm: bayesian}').draft;
    expect(valuesOf(study)).toMatchObject({
      metrics: [{ id: 'auc', goal: 'MAXIMIZE' }],
      algorithm: 'ALGORITHM_UNSPECIFIED',
    });
  });
});

describe('GPUs', () => {
  it.each(readCatalog().accelerators)(
    '$label is understood by each of its names',
    ({ name, label, memoryGibPerGpu }) => {
      const names = [label, label.toLowerCase(), name, toAcceleratorEnum(name), `${label}-${memoryGibPerGpu}GB`];
      for (const text of names.flatMap((each) => [each, `2 x ${each}`, `2x${each}`, `${each}:2`])) {
        expect(parseGpus(text).type, text).toBe(toAcceleratorEnum(name));
        expect(parseGpus(text).count, text).toBe(text.includes('2x') || /^2 x|:2$/.test(text) ? 2 : 1);
      }
    },
  );

  it('choose the machine where none is named, and it stands where they do', () => {
    expect(masterOf(readOwn('module: a\ngpu: L4').draft).machineType).toEqual({
      value: 'g2-standard-8',
      path: 'gpu',
      line: 2,
    });
    expect(firstOf('gpu: T4\nmachine: n1-highmem-16')).toMatchObject({ machineType: 'n1-highmem-16' });
  });

  it.each([
    ['an unknown one stays as it is written', 'T44', { type: 'T44', count: 1 }],
    ['three of those that come in twos and fours stay three', '3 x T4', { type: 'NVIDIA_TESLA_T4', count: 3 }],
    ['a placeholder is left for the checks', '$GPU', { type: '$GPU', count: 1 }],
    ['a mapping without a count means one', '{type: l4}', { type: 'NVIDIA_L4', count: 1 }],
  ])('%s', (_, gpu, accelerator) => {
    const { draft, problems } = readOwn(`module: a\ngpu: ${gpu}`);
    expect(problems).toEqual([]);
    expect(valuesOf(masterOf(draft).accelerator)).toEqual(accelerator);
  });

  it('bring no machine where the catalog has none with them', () => {
    expect(masterOf(readOwn('gpu: 3 x T4').draft).machineType).toBeUndefined();
    expect(masterOf(readOwn('module: a').draft).machineType).toBeUndefined();
  });
});

describe('durations', () => {
  it.each([
    ['12h', '43200s'],
    ['90m', '5400s'],
    ['2d', '172800s'],
    ['1.1h', '3960s'],
    ['1d 2h 3m 4.5s', '93784.5s'],
    ['3600s', '3600s'],
    ['3600.123456789s', '3600.123456789s'],
    ['0m', '0s'],
  ])('%s is %s', (text, value) => {
    expect(readOwn(`maxRuntime: ${text}`).draft.maxRunningTime?.value).toBe(value);
  });

  it.each(['3600', '12 hours', '1h2d', 'soon', '$LIMIT', '-1h', '""'])('%s is left for the checks', (text) => {
    expect(readOwn(`maxRuntime: ${text}`).draft.maxRunningTime?.value).toBe(text.replaceAll('"', ''));
  });
});

describe('what is wrong with the form', () => {
  it('is found at once, each where it stands', () => {
    expect(readOwn(fixture('own-mistakes.yaml')).problems.map(summarize)).toEqual([
      'UNKNOWN_FIELD jobID:1',
      'UNKNOWN_FIELD pythonModule:2',
      'UNKNOWN_FIELD modul:3',
      'WRONG_TYPE command:4',
      'GPU_NOT_NAMED gpu:5',
      'UNKNOWN_FIELD machine_type:6',
      'UNKNOWN_FIELD workers.replicaCount:7',
      'UNKNOWN_FIELD workers.region:7',
      'WRONG_TYPE spot:8',
      'UNKNOWN_FIELD trials:9',
      'WRONG_TYPE retries:10',
      'WRONG_TYPE disk:11',
      'WRONG_TYPE reservation:12',
      'WRONG_TYPE parameterServers:13',
      'UNKNOWN_FIELD tune.maxTrials:15',
      'UNKNOWN_VALUE tune.goal:16',
      'UNKNOWN_VALUE tune.algorithm:17',
      'UNKNOWN_FIELD tune.parameters.learning_rate.minValue:19',
      'WRONG_TYPE tune.parameters.learning_rate.max:19',
      'WRONG_TYPE tune.parameters.dropout:20',
    ]);
  });

  it('is a mistake that wants Spot VMs and waits for others, and none that says no to one of them', () => {
    const { problems } = readOwn('module: t\nspot: true\nflexStart: true');
    expect(problems.map(describeProblem)).toEqual(['CONFLICTING_FIELDS flexStart']);
    expect(readOwn('module: t\nspot: false\nflexStart: true').draft?.strategy?.value).toBe('FLEX_START');
  });

  it.each([
    ['jobID: a', 'Write name.'],
    ['pythonModule: a', 'Write module.'],
    ['masterType: a', 'Write machine.'],
    ['machine_type: a', 'Write machine.'],
    ['job_dir: a', 'Write output.'],
    ['accelerators: a', 'Write gpu.'],
    ['use_spot: true', 'Write spot: true.'],
    ['scheduling: {}', 'Write maxRuntime, maxWait, spot and flexStart.'],
    ['modul: a', '"module"'],
    ['outptu: a', '"output"'],
    ['metric: a', 'under tune'],
    ['tune: {gpu: T4}', 'under the top level'],
    ['tune: {metrc: a}', '"metric"'],
    ['gpu: {name: T4}', 'Write type.'],
    ['command: python train.py', '[python, train.py]'],
    ['disk: 200GB', 'whole number'],
    ['spot: $SPOT', 'Put the value in its place.'],
    ['tune: {algorithm: $ALGORITHM}', 'Put the value in its place.'],
  ])('%s: says %s', (text, hint) => {
    const { problems } = readOwn(text);
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.some(({ remedy }) => remedy.includes(hint))).toBe(true);
  });
});

describe('names at the top of a file', () => {
  it('speak for the own form where no other form has them', () => {
    const names = Object.keys(JOB.rules);
    expect(names.filter((name) => isDropforgeField(name) && (isJobField(name) || isTrainingInputField(name)))).toEqual(
      [],
    );
    expect(['module', 'image', 'gpu', 'machine', 'workers', 'spot', 'maxRuntime', 'tune'].every(isDropforgeField)).toBe(
      true,
    );
    expect(isDropforgeField('toString')).toBe(false);
  });

  it.each([
    ['App Engine', ['runtime', 'env', 'entrypoint', 'handlers', 'network']],
    ['Conda', ['name', 'channels', 'dependencies']],
    ['a build service', ['python', 'packages', 'env', 'script', 'args']],
  ])('leave a file of %s alone', (_, names) => {
    expect(names.filter(isDropforgeField)).toEqual([]);
  });

  it('are mended without listing those of other forms among their own', () => {
    const own = new Set(Object.keys(JOB.rules));
    expect(Object.keys(JOB.synonyms).filter((name) => own.has(name))).toEqual([]);
  });
});

describe('reading anything', () => {
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom('any', 'T4', '2 x T4', '12h', 'maximize', '$A', 1, 0, -1, 1.5, true, null, ''),
      fc.jsonValue({ maxDepth: 1 }),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...fieldNames()), tie('tree'), { maxKeys: 4 }),
    ),
  }));

  function fieldNames(): readonly string[] {
    const schema = readFileSync(
      new URL('../../../shared/spec/dialects/dropforge-job.schema.json', import.meta.url),
      'utf8',
    );
    return [...new Set([...schema.matchAll(/"([a-zA-Z]+)": \{/g)].map(([, name]) => name ?? ''))];
  }

  it('never throws, and has something to say where it reads no value', () => {
    const job = fc.dictionary(fc.constantFrom(...Object.keys(JOB.rules)), tree, { maxKeys: 6 });
    const property = fc.property(job, (value) => {
      const { draft, problems } = readOwn(printYaml(value));
      expect(draft.pools[0]?.role).toBe('master');
      expect(problems.every(({ message, remedy }) => /[.]$/.test(message) && remedy !== '')).toBe(true);
    });
    fc.assert(property, { numRuns: 1_000 });
  });
});
