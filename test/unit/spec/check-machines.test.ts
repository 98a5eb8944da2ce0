import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCatalog } from '#shared/catalog/catalog.ts';
import { describeCluster } from '#shared/spec/describe-cluster.ts';
import { custom, machinesOf, pools, problemsOf, warningsOf } from './read-machines.ts';

function clusterOf(text: string) {
  const { draft, asked } = machinesOf(text);
  return describeCluster(draft.dialect, asked);
}

function planOf(text: string) {
  return machinesOf(text).groups?.map(({ role, count, machine: { machineType, accelerator }, isTpu }) =>
    [role, count, machineType, ...(accelerator ? [accelerator.type, accelerator.count] : []), isTpu && 'TPU']
      .filter((part) => part !== false)
      .join(' '),
  );
}

describe('scale tiers', () => {
  it.each([
    ['BASIC', { master: ['n1-standard-4', {}] }],
    ['BASIC_GPU', { master: ['n1-standard-8', { NVIDIA_TESLA_K80: 1 }] }],
    ['STANDARD_1', { master: ['n1-highcpu-8', {}], worker: [4, 'n1-highcpu-8', {}], ps: [3, 'n1-standard-4', {}] }],
    ['PREMIUM_1', { master: ['n1-highcpu-16', {}], worker: [19, 'n1-highcpu-16', {}], ps: [11, 'n1-highmem-8', {}] }],
    ['BASIC_TPU', { master: ['n1-standard-4', {}], worker: [1, 'cloud_tpu', { TPU_V2: 8 }] }],
  ])('%s stands for the machines that it stood for', (tier, cluster) => {
    const text = `trainingInput: {scaleTier: ${tier}}`;
    expect(clusterOf(text)).toEqual(cluster);
    expect(problemsOf(text)).toEqual([]);
  });

  it('gives BASIC where there is none, and says so', () => {
    expect(planOf('trainingInput: {args: [a]}')).toEqual(['master 1 n1-standard-4']);
    expect(warningsOf('trainingInput: {args: [a]}')).toEqual(['DEFAULT_SCALE_TIER trainingInput.scaleTier']);
  });

  it.each([
    ['STANDARD-1', 'STANDARD_1'],
    ['basic-gpu', 'BASIC_GPU'],
    ['custom', 'CUSTOM'],
  ])('has no tier %s, but knows which is meant', (tier, meant) => {
    const { groups, asked, findings } = machinesOf(`trainingInput: {scaleTier: ${tier}}`);
    expect({ groups, asked }).toEqual({ groups: null, asked: [] });
    expect(findings.problems).toEqual([
      expect.objectContaining({
        code: 'UNKNOWN_SCALE_TIER',
        line: 1,
        remedy: expect.stringContaining(`Did you mean "${meant}"?`),
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
  ])('allows machines of one’s own with CUSTOM alone: {%s}', (input, path, master) => {
    const { groups, asked, findings } = machinesOf(`trainingInput: {${input}}`);
    expect(findings.problems).toEqual([expect.objectContaining({ code: 'TIER_NOT_CUSTOM', path })]);
    expect({ groups, master: asked[0]?.machineType }).toEqual({ groups: null, master });
  });

  it('takes zeros beside a tier for nothing said, as proto3 does', () => {
    const zeros = 'workerCount: 0, masterConfig: {acceleratorConfig: {type: ACCELERATOR_TYPE_UNSPECIFIED, count: 0}}';
    expect(problemsOf(`trainingInput: {scaleTier: BASIC, ${zeros}}`)).toEqual([]);
  });
});

describe('machines of AI Platform', () => {
  it('are named by role, each as it was asked for', () => {
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

  it('may have AI Platform’s own names, which are translated; a K80 stays named, and a T4 would run', () => {
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

  it('are of one category, with a TPU beside either', () => {
    const { groups, asked, findings } = machinesOf(
      custom('masterType: n1-highmem-96, workerType: complex_model_l, workerCount: 2'),
    );
    expect({ groups, worker: asked[1]?.machineType }).toEqual({ groups: null, worker: 'n1-highcpu-32' });
    expect(findings.problems).toEqual([
      expect.objectContaining({
        code: 'MIXED_MACHINE_TYPES',
        path: 'trainingInput.workerType',
        remedy: "Write Compute Engine's name: complex_model_l is n1-highcpu-32.",
      }),
    ]);
    for (const master of ['complex_model_m', 'n1-highcpu-16']) {
      const text = custom(`masterType: ${master}, workerType: cloud_tpu, workerCount: 1`);
      expect(planOf(text)).toEqual(['master 1 n1-highcpu-16', 'worker 1 cloud_tpu TPU_V2 8 TPU']);
    }
  });

  it.each(['workerType: standard', 'workerType: standard, workerCount: 0'])(
    'are none where nobody says how many: {%s}',
    (input) => {
      expect(planOf(custom(`masterType: standard, ${input}`))).toEqual(['master 1 n1-standard-4']);
      expect(warningsOf(custom(`masterType: standard, ${input}`))).toEqual([
        'POOL_WITHOUT_COUNT trainingInput.workerType',
      ]);
    },
  );

  it('says nothing of roles that are counted as none', () => {
    expect(warningsOf(custom('masterType: standard, parameterServerCount: 0'))).toEqual([]);
  });

  it.each([
    ['no master', 'workerType: standard, workerCount: 1', 'MASTER_TYPE_MISSING trainingInput.scaleTier'],
    ['workers of no type', 'masterType: standard, workerCount: 1', 'POOL_WITHOUT_TYPE trainingInput.workerCount'],
    [
      'fewer than no workers',
      'masterType: standard, workerType: standard, workerCount: -1',
      'INVALID_COUNT trainingInput.workerCount',
    ],
    [
      'more than a thousand machines',
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

  it('may be a thousand', () => {
    expect(problemsOf(custom('masterType: standard, workerType: standard, workerCount: 999'))).toEqual([]);
  });

  it('are not missing where they cannot be read', () => {
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
    ['in threes', { type: 'n1-standard-8', gpu: 'NVIDIA_TESLA_T4', count: 3 }, `WRONG_ACCELERATOR_COUNT ${PATH}.type`],
    [
      'without a count',
      { type: 'n1-standard-8', gpu: 'NVIDIA_TESLA_T4', count: 0 },
      `INCOMPLETE_ACCELERATOR ${PATH}.count`,
    ],
    [
      'too few',
      { type: 'n1-standard-16', gpu: 'NVIDIA_TESLA_V100', count: 1 },
      'MACHINE_TYPE_TOO_LARGE trainingInput.masterType',
    ],
    [
      'built in elsewhere',
      { type: 'n1-standard-8', gpu: 'NVIDIA_TESLA_A100', count: 1 },
      `ACCELERATOR_NOT_ATTACHABLE ${PATH}.type`,
    ],
    [
      'on E2',
      { type: 'e2-standard-4', gpu: 'NVIDIA_TESLA_T4', count: 1 },
      `MACHINE_TYPE_TAKES_NO_ACCELERATOR ${PATH}.type`,
    ],
    ['beside others', { type: 'a2-highgpu-1g', gpu: 'NVIDIA_TESLA_T4', count: 1 }, `ACCELERATOR_BUILT_IN ${PATH}.type`],
    [
      'that are TPUs, on N1',
      { type: 'n1-standard-8', gpu: 'TPU_V2', count: 8 },
      `ACCELERATOR_NOT_ATTACHABLE ${PATH}.type`,
    ],
  ])('cannot be had %s, and are shown as they are written', (_, { type, gpu, count }, problem) => {
    const text = custom(`masterType: ${type}, masterConfig: {acceleratorConfig: {type: ${gpu}, count: ${count}}}`);
    expect(problemsOf(text)).toEqual([problem]);
    expect(clusterOf(text)).toEqual({ master: [type, { [gpu]: count }] });
  });

  it('that nearly exist are answered with the nearest', () => {
    const gpus = 'masterConfig: {acceleratorConfig: {type: NVIDIA_TESLA_T5, count: 1}}';
    const [problem] = machinesOf(custom(`masterType: n1-standard-8, ${gpus}`)).findings.problems;
    expect(problem?.remedy).toMatch(/^Did you mean "NVIDIA_TESLA_T4"\?/);
  });

  it('are told apart from a slip in the machine type', () => {
    const gpus = 'masterConfig: {acceleratorConfig: {type: NVIDIA_T4, count: 1}}';
    expect(problemsOf(custom(`masterType: n1-standart-8, ${gpus}`))).toEqual([
      'UNKNOWN_MACHINE_TYPE trainingInput.masterType',
      `UNKNOWN_ACCELERATOR ${PATH}.type`,
    ]);
  });
});

describe('machines of Vertex AI', () => {
  it('have the role of their place, and the primary replica is counted as well', () => {
    const a2 = 'machineSpec: {machineType: a2-highgpu-8g, acceleratorType: NVIDIA_TESLA_A100, acceleratorCount: 8}';
    const text = `workerPoolSpecs: [{${a2}, replicaCount: 1}, {}, {machineSpec: {machineType: n1-highcpu-16}, replicaCount: 24}]`;
    expect(clusterOf(text)).toEqual({
      master: [1, 'a2-highgpu-8g', { NVIDIA_TESLA_A100: 8 }],
      ps: [24, 'n1-highcpu-16', {}],
    });
    expect(planOf(text)).toEqual(['master 1 a2-highgpu-8g', 'ps 24 n1-highcpu-16']);
  });

  it('may be a TPU alone, with its topology', () => {
    const text = pools('machineSpec: {machineType: ct5lp-hightpu-4t, tpuTopology: 4x4}, replicaCount: 1');
    expect(clusterOf(text)).toEqual({ master: [1, 'ct5lp-hightpu-4t', {}, { tpuTopology: '4x4' }] });
    expect(planOf(text)).toEqual(['master 1 ct5lp-hightpu-4t TPU']);
  });

  it('are one where a pool does not say how many, with a warning for all but the first', () => {
    const machine = 'machineSpec: {machineType: n1-standard-8}';
    expect(planOf(pools(machine, machine))).toEqual(['master 1 n1-standard-8', 'worker 1 n1-standard-8']);
    expect(warningsOf(pools(machine, machine))).toEqual([
      'POOL_WITHOUT_COUNT workerPoolSpecs[1].machineSpec.machineType',
    ]);
    expect(planOf(pools(machine, `${machine}, replicaCount: 0`))).toEqual(['master 1 n1-standard-8']);
  });

  it.each([
    [
      'several primary replicas',
      ['machineSpec: {machineType: n1-standard-8}, replicaCount: 3'],
      'FIRST_POOL_COUNT workerPoolSpecs[0].replicaCount',
    ],
    [
      'pools of no type',
      ['machineSpec: {machineType: n1-standard-8}', 'replicaCount: 3'],
      'MISSING_FIELD workerPoolSpecs[1].machineSpec.machineType',
    ],
    ['no first pool', ['replicaCount: 1'], 'MISSING_FIELD workerPoolSpecs[0].machineSpec.machineType'],
    [
      'a GPU that is none of the API’s',
      ['machineSpec: {machineType: n1-standard-8, acceleratorType: NVIDIA_T4, acceleratorCount: 1}'],
      'UNKNOWN_ACCELERATOR workerPoolSpecs[0].machineSpec.acceleratorType',
    ],
  ])('cannot be %s', (_, specs, problem) => {
    expect(problemsOf(pools(...specs))).toEqual([problem]);
    expect(machinesOf(pools(...specs)).groups).toBeNull();
  });

  it.each([
    ['a mapping', ['machineSpec: n1-standard-8'], 'WRONG_TYPE workerPoolSpecs[0].machineSpec'],
    [
      'a count',
      [1, 'two'].map((count) => `machineSpec: {machineType: n1-standard-8}, replicaCount: ${count}`),
      'WRONG_TYPE workerPoolSpecs[1].replicaCount',
    ],
  ])('are neither missing nor guessed where %s cannot be read', (_, specs, problem) => {
    expect(problemsOf(pools(...specs))).toEqual([problem]);
    expect(warningsOf(pools(...specs))).toEqual([]);
    expect(machinesOf(pools(...specs)).groups).toBeNull();
  });

  it('that a template leaves open are shown as they are written, each gap once', () => {
    const gaps = 'machineType: MACHINE_TYPE, acceleratorType: <gpu>, acceleratorCount: ACCELERATOR_COUNT';
    const text = pools(`machineSpec: {${gaps}}, replicaCount: REPLICA_COUNT`);
    expect(clusterOf(text)).toEqual({ master: ['REPLICA_COUNT', 'MACHINE_TYPE', { '<gpu>': 'ACCELERATOR_COUNT' }] });
    expect(machinesOf(text).groups).toBeNull();
    expect([...problemsOf(text)].sort()).toEqual([
      'PLACEHOLDER workerPoolSpecs[0].machineSpec.acceleratorCount',
      'PLACEHOLDER workerPoolSpecs[0].machineSpec.acceleratorType',
      'PLACEHOLDER workerPoolSpecs[0].machineSpec.machineType',
      'PLACEHOLDER workerPoolSpecs[0].replicaCount',
    ]);
  });
});

describe('machines of Dropforge’s own form', () => {
  it.each([
    ['module: t', ['master 1 n1-standard-4']],
    ['module: t\ngpu: 2 x T4', ['master 1 n1-standard-16 nvidia-tesla-t4 2']],
    ['module: t\nworkers: 3', ['master 1 n1-standard-4', 'worker 3 n1-standard-4']],
    [
      'module: t\ngpu: L4\nworkers: {count: 2, machine: n1-highmem-8}',
      ['master 1 g2-standard-8', 'worker 2 n1-highmem-8'],
    ],
    ['module: t\nworkers: 0', ['master 1 n1-standard-4']],
  ])('have defaults: %j', (text, plan) => {
    expect(planOf(text)).toEqual(plan);
    expect(problemsOf(text)).toEqual([]);
  });

  it('are counted but for the first', () => {
    expect(clusterOf('module: t\nevaluators: 2')).toEqual({
      master: ['n1-standard-4', {}],
      evaluator: [2, 'n1-standard-4', {}],
    });
  });

  it('are told once of a mistake that groups share, and of the counts that GPUs come in', () => {
    const { findings } = machinesOf('module: t\ngpu: 3 x A100\nworkers: 2');
    expect(findings.problems).toEqual([
      expect.objectContaining({
        code: 'WRONG_ACCELERATOR_COUNT',
        path: 'gpu',
        remedy: 'Write a count of 1, 2, 4, 8, 16.',
      }),
    ]);
  });
});

describe('any machine', () => {
  const { machineTypes, legacyMachineTypes, tpuMachineTypes, accelerators, tpus } = readCatalog();
  const types = [...machineTypes, ...legacyMachineTypes, ...tpuMachineTypes].map(({ name }) => name);
  const gpus = [...accelerators.map(({ name }) => name), ...tpus];

  it('is planned, or there is a reason not to; asked for it is in any case', () => {
    fc.assert(
      fc.property(
        fc.record({
          type: fc.constantFrom(...types, '<type>', 'none', '__proto__'),
          gpu: fc.constantFrom(...gpus, 'none', '__proto__'),
          gpuCount: fc.integer({ min: -1, max: 17 }),
          count: fc.integer({ min: -1, max: 1_001 }),
        }),
        ({ type, gpu, gpuCount, count }) => {
          const spec = `{machineType: "${type}", acceleratorType: ${gpu}, acceleratorCount: ${gpuCount}}`;
          const { groups, asked, findings } = machinesOf(
            pools('machineSpec: {machineType: n1-standard-4}', `machineSpec: ${spec}, replicaCount: ${count}`),
          );
          expect(groups === null).toBe(findings.problems.length > 0);
          expect(asked).toHaveLength(count > 0 ? 2 : 1);
          for (const { message, remedy } of [...findings.problems, ...findings.warnings]) {
            expect(`${message} ${remedy}`).not.toMatch(/undefined|null|\[object|NaN/);
          }
        },
      ),
    );
  });
});
