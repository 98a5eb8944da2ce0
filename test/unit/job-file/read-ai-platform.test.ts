import { describe, expect, it } from 'vitest';
import { EMPTY_DRAFT, emptyPool, masterOf } from '#shared/job-file/draft/job-draft.ts';
import { isHyperparametersField, isJobField, isTrainingInputField } from '#shared/job-file/formats/ai-platform/read.ts';
import { AI_PLATFORM_FILES, at, fixture, PARAMS, readJob } from '../../support/job-file/ai-platform-files.ts';
import { valuesOf } from '../../support/job-file/read-own-job.ts';

type Expected = {
  readonly problems?: readonly string[];
  readonly warnings?: readonly string[];
  readonly unsupported?: readonly string[];
};

const FILES: Readonly<Record<string, Expected>> = {
  'aip-replicas.yaml': {},
  'aip-identity.yaml': {},
  'aip-nothing-in-it.yaml': {},
  'aip-odd-texts.yaml': {},
  'aip-container.yaml': {
    warnings: [
      'FIELD_WITHOUT_EFFECT trainingInput.workerConfig.tpuTfVersion:11',
      'FIELD_WITHOUT_EFFECT trainingInput.useChiefInTfConfig:12',
    ],
  },
  'aip-without-effect.yaml': {
    warnings: [
      'FIELD_WITHOUT_EFFECT trainingInput.useChiefInTfConfig:7',
      'FIELD_WITHOUT_EFFECT trainingInput.scheduling.priority:10',
      'FIELD_WITHOUT_EFFECT trainingInput.scheduling.resilientToWorkerRestart:11',
    ],
  },
  'aip-described.yaml': { warnings: ['JOB_RESOURCE createTime:1'] },
  'aip-prediction.yaml': { unsupported: ['UNSUPPORTED_FIELD predictionInput:2'] },
  'aip-architecture-search.yaml': { unsupported: ['UNSUPPORTED_FIELD trainingInput.nasJobSpec:7'] },
  'aip-slipped-config.yaml': {
    problems: [
      'UNKNOWN_FIELD trainingInput.workerConfig.bootDiskSizeGb:8',
      'UNKNOWN_FIELD trainingInput.workerConfig.count:9',
      'UNKNOWN_FIELD trainingInput.kmsKeyName:10',
    ],
  },
  'hpt-minimal.yaml': {},
  'hpt-all-fields.yaml': {},
  'hpt-snake-case.yaml': {},
  'hpt-no-params.yaml': {},
  'hpt-lone-param.yaml': { warnings: [`LIST_OF_ONE ${PARAMS}:10`] },
  'hpt-number-as-text.yaml': {
    warnings: [`NUMBER_AS_TEXT ${PARAMS}[0].minValue:12`, `NUMBER_AS_TEXT ${PARAMS}[0].maxValue:13`],
  },
  'hpt-no-number.yaml': {
    problems: [
      'WRONG_TYPE trainingInput.hyperparameters.maxTrials:9',
      'WRONG_TYPE trainingInput.hyperparameters.enableTrialEarlyStopping:10',
      `WRONG_TYPE ${PARAMS}[0].minValue:12`,
      `WRONG_TYPE ${PARAMS}[0].maxValue:12`,
    ],
  },
  'hpt-null-category.yaml': { problems: [`WRONG_TYPE ${PARAMS}[0].categoricalValues[1]:14`] },
  'hpt-stray-values.yaml': { warnings: [`FIELD_WITHOUT_EFFECT ${PARAMS}[0].categoricalValues:13`] },
  'hpt-bare.yaml': {
    problems: ['UNKNOWN_FIELD goal:1', 'UNKNOWN_FIELD maxTrials:2', 'UNKNOWN_FIELD params:3'],
  },
  'hpt-slipped.yaml': {
    problems: [
      'UNKNOWN_FIELD trainingInput.maxTrials:7',
      'UNKNOWN_FIELD trainingInput.hyperparameters.scaleType:10',
      'UNKNOWN_FIELD trainingInput.hyperparameters.type:11',
    ],
  },
};

describe('reading an AI Platform job', () => {
  it.each(Object.entries(FILES))('%s: reports exactly the expected findings', (file, expected) => {
    const { problems, warnings, unsupported } = readJob(fixture(file));
    expect({ problems, warnings, unsupported }).toEqual({
      problems: [],
      warnings: [],
      unsupported: [],
      ...expected,
    });
  });

  it('has expected findings for every fixture', () => {
    const own = AI_PLATFORM_FILES.filter((file) => /^(aip|hpt)-/.test(file));
    expect([...own, 'hpt-bare.yaml'].sort()).toEqual(Object.keys(FILES).sort());
  });

  it.each(Object.keys(FILES))('%s: has a message and a remedy in full sentences for each finding', (file) => {
    for (const { message, remedy } of readJob(fixture(file)).all) {
      expect(message).toMatch(/\.$/);
      expect(remedy).toMatch(/\.$/);
      expect(`${message} ${remedy}`).not.toMatch(/undefined|null|\[object/);
    }
  });

  it('reads the machines of every role, the master’s first', () => {
    const { draft } = readJob(fixture('aip-replicas.yaml'));
    expect(draft.pools.map(({ role, path, count, machineType }) => [role, path, count, machineType])).toEqual([
      ['master', 'trainingInput', undefined, at('n1-standard-8', 'masterType', 4)],
      ['worker', 'trainingInput', at(2, 'workerCount', 5), at('n1-standard-8', 'workerType', 6)],
      ['ps', 'trainingInput', at(1, 'parameterServerCount', 11), at('n1-highmem-8', 'parameterServerType', 10)],
      ['evaluator', 'trainingInput', at(1, 'evaluatorCount', 12), at('n1-standard-4', 'evaluatorType', 13)],
    ]);
    expect(draft.pools[1]).toMatchObject({
      accelerator: {
        type: at('NVIDIA_TESLA_T4', 'workerConfig.acceleratorConfig.type', 8),
        count: at(1, 'workerConfig.acceleratorConfig.count', 8),
      },
      bootDiskGib: at(300, 'workerConfig.diskConfig.bootDiskSizeGb', 9),
      bootDiskType: at('pd-standard', 'workerConfig.diskConfig.bootDiskType', 9),
    });
  });

  it.each([
    ['workerCount: 0', 'worker'],
    ['parameterServerType: large_model', 'ps'],
    ['workerConfig: {acceleratorConfig: {count: 1}}', 'worker'],
    ['evaluatorConfig: {diskConfig: {bootDiskType: pd-ssd}}', 'evaluator'],
    ['workerConfig: {containerArgs: []}', 'worker'],
  ])('has a pool for a role with only %s', (field, role) => {
    const { draft } = readJob(`trainingInput: {${field}}`);
    expect(draft.pools.map((pool) => pool.role)).toEqual(['master', role]);
  });

  it.each(['jobId: a', 'trainingInput: {}', 'trainingInput:', 'trainingInput: {workerConfig: {diskConfig: {}}}'])(
    'has the master’s pool alone where no role is spoken of: %s',
    (source) => {
      expect(readJob(source).draft.pools).toEqual([emptyPool('master', 'trainingInput')]);
    },
  );

  it('treats default values as absent', () => {
    const { draft } = readJob(fixture('aip-nothing-in-it.yaml'));
    const { serviceAccount, network, kmsKeyName, study, labels, pools } = draft;
    expect({ serviceAccount, network, kmsKeyName, study, labels }).toEqual({
      serviceAccount: undefined,
      network: undefined,
      kmsKeyName: undefined,
      study: undefined,
      labels: [],
    });
    expect(pools).toHaveLength(1);
  });

  it('reads containers by role', () => {
    const [master, worker] = readJob(fixture('aip-container.yaml')).draft.pools;
    expect(master?.program.imageUri).toMatchObject({ value: 'gcr.io/my-project/trainer:1', line: 6 });
    expect(valuesOf(master?.program)).toEqual({
      imageUri: 'gcr.io/my-project/trainer:1',
      command: ['python3', 'train.py'],
      containerArgs: ['--epochs', '10'],
      environment: [],
    });
    expect(valuesOf(worker?.program)).toMatchObject({ imageUri: 'gcr.io/my-project/worker:1' });
    expect(worker?.program.command).toBeUndefined();
  });

  it('reads service account, network and encryption key', () => {
    expect(readJob(fixture('aip-identity.yaml')).draft).toMatchObject({
      serviceAccount: at('trainer@my-project.iam.gserviceaccount.com', 'serviceAccount', 7),
      network: at('projects/12345/global/networks/training', 'network', 8),
      kmsKeyName: at(
        'projects/my-project/locations/us-central1/keyRings/ring/cryptoKeys/key',
        'encryptionConfig.kmsKeyName',
        10,
      ),
    });
  });

  it('keeps texts as written', () => {
    const { draft } = readJob(fixture('aip-odd-texts.yaml'));
    const { args, pythonModule } = masterOf(draft).program;
    expect(draft.jobId?.value).toBe('0123');
    expect(draft.labels.map(({ value }) => [value.key, value.text])).toEqual([
      ['10', 'true'],
      ['b', ''],
      ['a', '1.10'],
      ['yes', '# no comment'],
    ]);
    expect(args?.map(({ value }) => value)).toEqual([
      '1e-5',
      '010',
      '0x10',
      'yes',
      '',
      ' ',
      '- x',
      'a: b',
      'two\nlines\n',
      '\t',
    ]);
    expect([pythonModule?.value, draft.runtimeVersion?.value]).toEqual(['null', '1.10']);
  });

  it('keeps a placeholder in place of a count, and reports it', () => {
    const { draft, problems } = readJob('trainingInput: {workerCount: <WORKERS>}');
    expect(problems).toEqual(['PLACEHOLDER trainingInput.workerCount:1']);
    expect(draft.pools[1]?.count?.value).toBe('<WORKERS>');
  });

  it('has no findings for an empty job', () => {
    const { draft } = readJob('trainingInput: {}');
    expect({ ...draft, pools: [] }).toEqual(EMPTY_DRAFT);
  });

  it('warns once about all output fields', () => {
    const { warnings } = readJob('state: FAILED\nerrorMessage: x\nend_time: y\njobId: a\n');
    expect(warnings).toEqual(['JOB_RESOURCE state:1']);
  });

  it('names an output field in the remedy as its other fields, in camelCase', () => {
    const { all } = readJob('end_time: y\njobId: a\n');
    expect(all[0]?.remedy).toContain('remove endTime and the other fields');
  });

  it.each([
    ['aip-slipped-config.yaml', 0, 'trainingInput.workerConfig.diskConfig:'],
    ['aip-slipped-config.yaml', 1, 'trainingInput.workerConfig.acceleratorConfig:'],
    ['aip-slipped-config.yaml', 2, 'trainingInput.encryptionConfig:'],
    ['hpt-bare.yaml', 0, 'trainingInput.hyperparameters:'],
    ['hpt-bare.yaml', 2, 'trainingInput.hyperparameters:'],
    ['hpt-slipped.yaml', 0, 'trainingInput.hyperparameters:'],
    ['hpt-slipped.yaml', 1, 'trainingInput.hyperparameters.params:'],
  ])('%s: names the mapping that a misplaced field belongs to (%i)', (file, index, parent) => {
    expect(readJob(fixture(file)).all[index]?.remedy).toContain(`It belongs under ${parent}`);
  });

  it('names no mapping for a field of several', () => {
    expect(readJob(fixture('hpt-slipped.yaml')).all[2]?.remedy).not.toContain('belongs');
  });

  it('distinguishes fields of the job, its input and its hyperparameters', () => {
    const names = ['jobId', 'pythonModule', 'goal', 'toString'];
    expect(names.map(isJobField)).toEqual([true, false, false, false]);
    expect(names.map(isTrainingInputField)).toEqual([false, true, false, false]);
    expect(names.map(isHyperparametersField)).toEqual([false, false, true, false]);
  });
});
