import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { classifyProfile } from '#shared/diagnosis/profile/classify-profile.ts';
import type { Frame, ProfileFacts, ProfileSamples, Sample } from '#shared/diagnosis/profile/profile-samples.ts';
import { parseProfileFile } from '#shared/protocol/profile-file.ts';

/** Recorded by the agent on Python 3.11 and PyTorch 2.13, 8 s each; every fourth sample is kept. */
const FOLDER = new URL('../../diagnosis/fixtures/profiles/', import.meta.url);

function recorded(name: string): ProfileSamples {
  const samples = parseProfileFile(readFileSync(new URL(`${name}.speedscope.json`, FOLDER), 'utf8'));
  if (samples === undefined) {
    throw new Error(`${name} is not a profile.`);
  }
  return samples;
}

describe('a recorded training', () => {
  it.each([
    ['data-loader-without-workers', 'INPUT_BOUND', /num_workers=2/],
    ['data-loader-with-workers', 'INPUT_BOUND', /num_workers=8/],
    ['python-loop', 'PYTHON_BOUND', /tokenize|train|<listcomp>/],
    ['matrix-products', 'DEVICE_BOUND', /use a GPU/],
    ['sleep', 'UNCLEAR', /speedscope\.app/],
  ] as const)('of %s is %s', (name, code, remedy) => {
    const verdict = classifyProfile(recorded(name));
    expect([verdict.code, verdict.remedy]).toEqual([code, expect.stringMatching(remedy)]);
    expect(Object.values(verdict.shares).reduce((sum, share) => sum + share, 0)).toBeCloseTo(1);
  });

  it('names the functions in which time was spent, and the line of the program that called them', () => {
    const [first] = classifyProfile(recorded('data-loader-with-workers')).topFrames;
    expect(first).toMatchObject({ name: 'select', kind: 'INPUT', calledFrom: { name: 'train' } });
    const [backward] = classifyProfile(recorded('matrix-products')).topFrames;
    expect(backward).toMatchObject({ name: '_engine_run_backward', kind: 'NATIVE' });
  });

  it('is told from its file names alone if the lock could not be recorded, and the evidence says so', () => {
    for (const [name, code] of [
      ['matrix-products', 'DEVICE_BOUND'],
      ['python-loop', 'PYTHON_BOUND'],
    ] as const) {
      const verdict = classifyProfile({ ...recorded(name), holdingLock: null });
      expect(verdict.code).toBe(code);
      expect(verdict.evidence.join(' ')).toContain('could not be recorded');
    }
  });
});

const FACTS: ProfileFacts = {
  seconds: 10,
  mainThreadCpu: 1,
  mainThreadDelay: 0,
  processCpu: 1,
  workerCount: 0,
  workerCpu: 0,
  cpuCount: 8,
  gpuBusyFractions: [],
};

const frame = (file: string, name = 'run'): Frame => ({ file, name, line: 1 });
const TASK = frame('/var/lib/dropforge/sources/0/trainer/task.py', 'train');
const SITE = '/var/lib/dropforge/venv/lib/python3.12/site-packages';

/** `count` samples of one second in a stack. */
function samplesOf(count: number, ...stack: readonly Frame[]): readonly Sample[] {
  return Array.from({ length: count }, () => ({ stack: [TASK, ...stack], seconds: 1 }));
}

function classify(
  main: readonly Sample[],
  { lock = [], ...facts }: Partial<ProfileFacts> & { readonly lock?: readonly Sample[] } = {},
) {
  return classifyProfile({ main, holdingLock: lock, facts: { ...FACTS, ...facts } });
}

describe('the verdict', () => {
  it.each([
    ['a tf.data iterator', `${SITE}/tensorflow/python/data/ops/iterator_ops.py`, '__next__'],
    ['Keras', `${SITE}/keras/src/trainers/data_adapters/py_dataset_adapter.py`, 'get'],
    ['Pillow', `${SITE}/PIL/ImageFile.py`, 'load'],
    ['a bucket', `${SITE}/google/cloud/storage/blob.py`, 'download_as_bytes'],
    ['a function of the program', '/home/me/trainer/data.py', 'load_batch'],
  ])('is INPUT_BOUND for %s', (_, file, name) => {
    expect(classify(samplesOf(100, frame(file, name))).code).toBe('INPUT_BOUND');
  });

  it('takes Python inside of the data loader for input', () => {
    const loading = samplesOf(
      100,
      frame(`${SITE}/torch/utils/data/_utils/fetch.py`),
      frame('/home/me/data.py', 'flip'),
    );
    expect(classify(loading, { lock: loading }).code).toBe('INPUT_BOUND');
  });

  it('asks for more cores when all of them are busy with input', () => {
    const waiting = samplesOf(100, frame(`${SITE}/torch/utils/data/dataloader.py`));
    expect(classify(waiting, { workerCount: 8, workerCpu: 7.5 }).remedy).toContain('All CPU cores are busy');
  });

  it('is DEVICE_BOUND on a busy GPU, whatever the main thread waits in', () => {
    const verdict = classify(samplesOf(100), { gpuBusyFractions: [0.97], processCpu: 0, mainThreadCpu: 0 });
    expect([verdict.code, verdict.remedy]).toEqual(['DEVICE_BOUND', expect.stringContaining('GPU limits')]);
    expect(verdict.evidence).toContain('Busy: GPU 0 97 %.');
  });

  it('is PYTHON_BOUND on a GPU that short kernels keep busy between lines of Python', () => {
    const own = samplesOf(100);
    const verdict = classify(own, { lock: own, gpuBusyFractions: [0.95] });
    expect([verdict.code, verdict.remedy]).toEqual(['PYTHON_BOUND', expect.stringContaining('CUDA graphs')]);
  });

  it('finds a computation that was left on the CPU', () => {
    const verdict = classify(samplesOf(100, frame(`${SITE}/torch/nn/modules/linear.py`)), { gpuBusyFractions: [0] });
    expect([verdict.code, verdict.remedy]).toEqual(['DEVICE_BOUND', expect.stringContaining('GPU is idle')]);
  });

  it('names the optimizer that loops over parameters in Python', () => {
    const steps = samplesOf(100, frame(`${SITE}/torch/optim/adam.py`, '_single_tensor_adam'));
    expect(classify(steps, { lock: steps }).remedy).toContain('fused=True');
  });

  it('is UNCLEAR while modules are imported, while others are awaited, and for too few samples', () => {
    const importing = classify(
      samplesOf(100, frame('<frozen importlib._bootstrap>'), frame(`${SITE}/torch/nn/init.py`)),
    );
    expect([importing.code, importing.remedy]).toEqual(['UNCLEAR', expect.stringContaining('still importing')]);
    const waiting = classify(samplesOf(100, frame(`${SITE}/torch/distributed/distributed_c10d.py`, 'all_reduce')));
    expect([waiting.code, waiting.remedy]).toEqual(['UNCLEAR', expect.stringContaining('--replica')]);
    expect(classify(samplesOf(5, frame(`${SITE}/PIL/Image.py`))).code).toBe('UNCLEAR');
    expect(classify([]).topFrames).toEqual([]);
  });

  it('says for how long the main thread waited for a core', () => {
    const verdict = classify(samplesOf(100), { mainThreadCpu: 0.3, processCpu: 0.3, mainThreadDelay: 0.6 });
    expect(verdict.code).toBe('DEVICE_BOUND');
    expect(verdict.evidence).toContain('The main thread waited for a free CPU core for 60 % of the time.');
  });
});

describe('a file', () => {
  const valid = JSON.parse(readFileSync(new URL('sleep.speedscope.json', FOLDER), 'utf8'));

  it('that is not a profile of the agent has no verdict', () => {
    for (const text of ['', '[]', '{"profiles":[]}', JSON.stringify({ ...valid, dropforge: undefined })]) {
      expect(parseProfileFile(text)).toBeUndefined();
    }
  });

  it('with samples of frames that do not exist, or without a main thread, leads to no verdict on them', () => {
    const [main] = valid.profiles;
    const odd = { ...valid, profiles: [{ ...main, samples: [[0, 99_999]], weights: [] }] };
    expect(parseProfileFile(JSON.stringify(odd))?.main).toMatchObject([{ stack: [{}], seconds: 0 }]);
    const none = parseProfileFile(JSON.stringify({ ...valid, profiles: [] }));
    expect(none === undefined ? '' : classifyProfile(none).code).toBe('UNCLEAR');
  });
});
