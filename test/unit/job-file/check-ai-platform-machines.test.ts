import { describe, expect, it } from 'vitest';
import { clusterOf, custom, machinesOf, planOf, problemsOf, warningsOf } from '../../support/job-file/read-machines.ts';

describe('scale tiers', () => {
  it.each([
    ['BASIC', { master: ['n1-standard-4', {}] }],
    ['BASIC_GPU', { master: ['n1-standard-8', { NVIDIA_TESLA_K80: 1 }] }],
    ['STANDARD_1', { master: ['n1-highcpu-8', {}], worker: [4, 'n1-highcpu-8', {}], ps: [3, 'n1-standard-4', {}] }],
    ['PREMIUM_1', { master: ['n1-highcpu-16', {}], worker: [19, 'n1-highcpu-16', {}], ps: [11, 'n1-highmem-8', {}] }],
    ['BASIC_TPU', { master: ['n1-standard-4', {}], worker: [1, 'cloud_tpu', { TPU_V2: 8 }] }],
  ])('%s has the machines of AI Platform', (tier, cluster) => {
    const text = `trainingInput: {scaleTier: ${tier}}`;
    expect(clusterOf(text)).toEqual(cluster);
    expect(problemsOf(text)).toEqual([]);
  });

  it('defaults to BASIC, as gcloud does, without a warning', () => {
    expect(planOf('trainingInput: {args: [a]}')).toEqual(['master 1 n1-standard-4']);
    expect(warningsOf('trainingInput: {args: [a]}')).toEqual([]);
  });

  it.each([
    ['STANDARD-1', 'STANDARD_1'],
    ['basic-gpu', 'BASIC_GPU'],
    ['custom', 'CUSTOM'],
  ])('rejects the tier %s and suggests a similar one', (tier, suggestion) => {
    const { groups, requested, findings } = machinesOf(`trainingInput: {scaleTier: ${tier}}`);
    expect({ groups, requested }).toEqual({ groups: null, requested: [] });
    expect(findings.problems).toEqual([
      expect.objectContaining({
        code: 'UNKNOWN_SCALE_TIER',
        line: 1,
        remedy: expect.stringContaining(`Did you mean "${suggestion}"?`),
      }),
    ]);
  });

  it.each([
    ['scaleTier: BASIC, masterType: n1-standard-8', 'trainingInput.masterType', 'n1-standard-4'],
    ['masterType: standard_p100', 'trainingInput.masterType', 'n1-standard-8'],
    ['scaleTier: BASIC, workerCount: 2', 'trainingInput.workerCount', 'n1-standard-4'],
    [
      'scaleTier: BASIC_GPU, evaluatorConfig: {acceleratorConfig: {type: NVIDIA_TESLA_T4, count: 1}}',
      'trainingInput.evaluatorConfig.acceleratorConfig.type',
      'n1-standard-8',
    ],
  ])('allows custom machines only with CUSTOM: {%s}', (input, path, master) => {
    const { groups, requested, findings } = machinesOf(`trainingInput: {${input}}`);
    expect(findings.problems).toEqual([expect.objectContaining({ code: 'TIER_NOT_CUSTOM', path })]);
    expect({ groups, master: requested[0]?.machineType }).toEqual({ groups: null, master });
  });

  it('treats a zero like a missing field, as proto3 does', () => {
    const zeros = 'workerCount: 0, masterConfig: {acceleratorConfig: {type: ACCELERATOR_TYPE_UNSPECIFIED, count: 0}}';
    expect(problemsOf(`trainingInput: {scaleTier: BASIC, ${zeros}}`)).toEqual([]);
  });
});

describe('machines of AI Platform', () => {
  it('are returned by role, as requested', () => {
    const t4 = 'acceleratorConfig: {type: NVIDIA_TESLA_T4, count: 2}';
    const master = `masterType: n1-standard-16, masterConfig: {${t4}}`;
    const others = 'workerType: n1-highcpu-16, workerCount: "9", evaluatorType: n1-standard-4, evaluatorCount: 1';
    expect(clusterOf(custom(`${master}, ${others}`))).toEqual({
      master: ['n1-standard-16', { NVIDIA_TESLA_T4: 2 }],
      worker: [9, 'n1-highcpu-16', {}],
      evaluator: [1, 'n1-standard-4', {}],
    });
    expect(planOf(custom(`${master}, ${others}`))).toEqual([
      'master 1 n1-standard-16 nvidia-tesla-t4 2',
      'worker 9 n1-highcpu-16',
      'evaluator 1 n1-standard-4',
    ]);
  });

  it('with legacy names are translated; a K80 is kept in the request and replaced by a T4 in the plan', () => {
    const text = custom('masterType: complex_model_l_gpu, workerType: standard_gpu, workerCount: 3');
    expect(clusterOf(text)).toEqual({
      master: ['n1-standard-32', { NVIDIA_TESLA_K80: 8 }],
      worker: [3, 'n1-standard-8', { NVIDIA_TESLA_K80: 1 }],
    });
    expect(planOf(text)).toEqual([
      'master 1 n1-standard-32 nvidia-tesla-t4 4',
      'worker 3 n1-standard-8 nvidia-tesla-t4 1',
    ]);
    expect(warningsOf(text)).toEqual([
      'ACCELERATOR_REPLACED trainingInput.masterType',
      'ACCELERATOR_REPLACED trainingInput.workerType',
    ]);
  });

  it('are of one category, combined with a TPU or not', () => {
    const { groups, requested, findings } = machinesOf(
      custom('masterType: n1-highmem-96, workerType: complex_model_l, workerCount: 2'),
    );
    expect({ groups, worker: requested[1]?.machineType }).toEqual({ groups: null, worker: 'n1-highcpu-32' });
    expect(findings.problems).toEqual([
      expect.objectContaining({
        code: 'MIXED_MACHINE_TYPES',
        path: 'trainingInput.workerType',
        remedy: 'Write the Compute Engine name: complex_model_l is n1-highcpu-32.',
      }),
    ]);
    for (const master of ['complex_model_m', 'n1-highcpu-16']) {
      const text = custom(`masterType: ${master}, workerType: cloud_tpu, workerCount: 1`);
      expect(planOf(text)).toEqual(['master 1 n1-highcpu-16', 'worker 1 cloud_tpu TPU_V2 8 TPU']);
    }
  });

  it.each(['workerType: standard', 'workerType: standard, workerCount: 0'])(
    'are none without a count, with a warning: {%s}',
    (input) => {
      expect(planOf(custom(`masterType: standard, ${input}`))).toEqual(['master 1 n1-standard-4']);
      expect(warningsOf(custom(`masterType: standard, ${input}`))).toEqual([
        'POOL_WITHOUT_COUNT trainingInput.workerType',
      ]);
    },
  );

  it('reports nothing for roles with a count of 0', () => {
    expect(warningsOf(custom('masterType: standard, parameterServerCount: 0'))).toEqual([]);
  });

  it.each([
    ['no master', 'workerType: standard, workerCount: 1', 'MASTER_TYPE_MISSING trainingInput.scaleTier'],
    ['workers without a type', 'masterType: standard, workerCount: 1', 'POOL_WITHOUT_TYPE trainingInput.workerCount'],
    [
      'a negative number of workers',
      'masterType: standard, workerType: standard, workerCount: -1',
      'INVALID_COUNT trainingInput.workerCount',
    ],
    [
      'more than 1,000 machines',
      'masterType: standard, workerType: standard, workerCount: 1000',
      'TOO_MANY_REPLICAS trainingInput.workerCount',
    ],
    [
      'several TPU replicas',
      'masterType: standard, workerType: cloud_tpu, workerCount: 2',
      'TPU_POOL trainingInput.workerCount',
    ],
    ['two TPUs', 'masterType: cloud_tpu, workerType: cloud_tpu, workerCount: 1', 'TPU_POOL trainingInput.workerType'],
    ['an unknown machine type', 'masterType: n1-standard-5', 'UNKNOWN_MACHINE_TYPE trainingInput.masterType'],
  ])('cannot be %s', (_, input, problem) => {
    expect(problemsOf(custom(input))).toEqual([problem]);
    expect(machinesOf(custom(input)).groups).toBeNull();
  });

  it('may be 1,000', () => {
    expect(problemsOf(custom('masterType: standard, workerType: standard, workerCount: 999'))).toEqual([]);
  });

  it('are not reported missing if they are unreadable', () => {
    expect(problemsOf(custom('masterType: [standard]'))).toEqual(['WRONG_TYPE trainingInput.masterType']);
    const workers = 'masterType: standard, workerType: standard, workerCount: two';
    expect(machinesOf(custom(workers)).groups).toBeNull();
    expect(problemsOf(custom(workers))).toEqual(['WRONG_TYPE trainingInput.workerCount']);
    expect(machinesOf(custom('masterType: n1-standard-8, masterConfig: {acceleratorConfig: T4}')).groups).toBeNull();
  });
});

describe('GPUs of AI Platform', () => {
  const PATH = 'trainingInput.masterConfig.acceleratorConfig';

  it.each([
    [
      'on a legacy type',
      { type: 'standard_gpu', gpu: 'NVIDIA_TESLA_T4', count: 1 },
      `ACCELERATOR_ON_LEGACY_TYPE ${PATH}.type`,
    ],
    ['that do not exist', { type: 'n1-standard-8', gpu: 'NVIDIA_T4', count: 1 }, `UNKNOWN_ACCELERATOR ${PATH}.type`],
    [
      'in an unavailable number',
      { type: 'n1-standard-8', gpu: 'NVIDIA_TESLA_T4', count: 3 },
      `WRONG_ACCELERATOR_COUNT ${PATH}.type`,
    ],
    [
      'without a count',
      { type: 'n1-standard-8', gpu: 'NVIDIA_TESLA_T4', count: 0 },
      `INCOMPLETE_ACCELERATOR ${PATH}.count`,
    ],
    [
      'too few for the machine type',
      { type: 'n1-standard-16', gpu: 'NVIDIA_TESLA_V100', count: 1 },
      'MACHINE_TYPE_TOO_LARGE trainingInput.masterType',
    ],
    [
      'that only come built in',
      { type: 'n1-standard-8', gpu: 'NVIDIA_TESLA_A100', count: 1 },
      `ACCELERATOR_NOT_ATTACHABLE ${PATH}.type`,
    ],
    [
      'on E2',
      { type: 'e2-standard-4', gpu: 'NVIDIA_TESLA_T4', count: 1 },
      `MACHINE_TYPE_TAKES_NO_ACCELERATOR ${PATH}.type`,
    ],
    [
      'in addition to built-in ones',
      { type: 'a2-highgpu-1g', gpu: 'NVIDIA_TESLA_T4', count: 1 },
      `ACCELERATOR_BUILT_IN ${PATH}.type`,
    ],
    [
      'that are TPUs, on N1',
      { type: 'n1-standard-8', gpu: 'TPU_V2', count: 8 },
      `ACCELERATOR_NOT_ATTACHABLE ${PATH}.type`,
    ],
  ])('are rejected %s, and shown as written', (_, { type, gpu, count }, problem) => {
    const text = custom(`masterType: ${type}, masterConfig: {acceleratorConfig: {type: ${gpu}, count: ${count}}}`);
    expect(problemsOf(text)).toEqual([problem]);
    expect(clusterOf(text)).toEqual({ master: [type, { [gpu]: count }] });
  });

  it('with a typo get the most similar name as a suggestion', () => {
    const gpus = 'masterConfig: {acceleratorConfig: {type: NVIDIA_TESLA_T5, count: 1}}';
    const [problem] = machinesOf(custom(`masterType: n1-standard-8, ${gpus}`)).findings.problems;
    expect(problem?.remedy).toMatch(/^Did you mean "NVIDIA_TESLA_T4"\?/);
  });

  it('are reported separately from a typo in the machine type', () => {
    const gpus = 'masterConfig: {acceleratorConfig: {type: NVIDIA_T4, count: 1}}';
    expect(problemsOf(custom(`masterType: n1-standart-8, ${gpus}`))).toEqual([
      'UNKNOWN_MACHINE_TYPE trainingInput.masterType',
      `UNKNOWN_ACCELERATOR ${PATH}.type`,
    ]);
  });
});
