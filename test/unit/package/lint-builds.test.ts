import { describe, expect, it } from 'vitest';
import { inspectPackage } from '#shared/package/inspect-package.ts';
import { sourceOf, wheelOf, zipOf } from '../../support/package/build-archives.ts';
import { lint, NO_GPU, reportOf, setupOf, verdictOf } from '../../support/package/lint-subject.ts';

const FAILS = 'ERROR CPU_ONLY_BUILD';
const WARNS = 'WARNING CPU_ONLY_BUILD';

describe('CPU_ONLY_BUILD', () => {
  it.each([
    ['tensorflow-cpu==2.12.0'],
    ['TensorFlow_CPU'],
    ['torch==2.2.0+cpu'],
    ['torch===2.2.0+cpu ; sys_platform == "linux"'],
    ['torch @ https://download.pytorch.org/whl/cpu/torch-2.2.0%2Bcpu-cp310-cp310-linux_x86_64.whl'],
  ])('is an error: %s', async (requirement) => {
    expect(await verdictOf(setupOf('numpy', requirement))).toEqual([FAILS]);
  });

  it.each([
    ['jax, which the image may extend with a CUDA plug-in', ['jax[cpu]']],
    ['two builds, either of which may be used', ['tensorflow-cpu', 'tensorflow']],
    ['a marker whose value is unknown', ['tensorflow-cpu; platform_release == "5"']],
  ])('is a warning: %s', async (_what, requirements) => {
    expect(await verdictOf(setupOf(...requirements))).toEqual([WARNS]);
  });

  it.each([
    ['a marker for another operating system', ['torch==2.2.0+cpu; sys_platform == "darwin"']],
    ['a marker for another Python version', ['tensorflow-cpu; python_version < "3.8" and os_name == "posix"']],
    ['tensorflow-cpu reading data for JAX', ['tensorflow-cpu', 'jax[cuda12]']],
    ['the plain build', ['torch==2.2.0', 'tensorflow>=2']],
    ['libraries with similar names', ['faiss-cpu', 'tensorflow-cpu-extras']],
    ['both builds of JAX', ['jax[cpu]', 'jax[cuda12]']],
  ])('is not reported for %s', async (_what, requirements) => {
    expect(await verdictOf(setupOf(...requirements))).toEqual([]);
  });

  it('is not reported if the program imports another GPU framework', async () => {
    const files = { ...setupOf('tensorflow-cpu'), 'trainer/task.py': 'import torch\n' };
    expect(await verdictOf(files)).toEqual([]);
    expect(await verdictOf({ ...files, 'trainer/task.py': '# import torch\n"""\nimport jax\n"""\n' })).toEqual([FAILS]);
  });

  it('is not reported without GPUs or with TPUs', async () => {
    expect(await verdictOf(setupOf('tensorflow-cpu'), { machines: NO_GPU })).toEqual([]);
    expect(await verdictOf(setupOf('tensorflow-cpu'), { isTpuJob: true })).toEqual([]);
  });

  it('is checked in linear time in a requirements file with one very long line', async () => {
    const reading = "setup(name='trainer', install_requires=open('requirements.txt').read().split())";
    const text = `-f ${'='.repeat(60_000)}${'pytorch.org/whl/'.repeat(4_000)}`;
    expect(await verdictOf({ 'setup.py': reading, 'requirements.txt': text })).toEqual([]);
  });

  it('is a warning for a requirements file that setup.py reads', async () => {
    const text = '--extra-index-url https://download.pytorch.org/whl/cpu\ntorch==2.2.0\n';
    const reading = "setup(name='trainer', install_requires=open('requirements.txt').read().split())";
    expect(await verdictOf({ 'setup.py': reading, 'requirements.txt': text })).toEqual([WARNS]);
    expect(await verdictOf({ 'requirements.txt': text })).toEqual([WARNS]);
    const cuda = text.replace('whl/cpu', 'whl/cu121');
    expect(await verdictOf({ 'setup.py': reading, 'requirements.txt': cuda })).toEqual([]);
    const pinned = 'tensorflow-cpu==2.12 --hash=sha256:00\r\n';
    expect(await verdictOf({ 'setup.py': reading, 'requirements.txt': pinned })).toEqual([WARNS]);
  });

  it('is a warning for a wheel inside the archive', async () => {
    const wheel = 'wheels/torch-2.2.0+cpu-cp310-cp310-linux_x86_64.whl';
    expect(await verdictOf({ [wheel]: 'PK' })).toEqual([WARNS]);
    expect(await verdictOf({ [wheel.replace('+cpu', '+cu121')]: 'PK' })).toEqual([]);
  });

  it('is an error for a CPU-only wheel of torch among the packages', async () => {
    const info = 'torch-2.2.0+cpu.dist-info';
    const paths = ['torch/__init__.py', `${info}/METADATA`, `${info}/WHEEL`];
    const texts = ['', 'Name: torch\nVersion: 2.2.0+cpu\n', 'Wheel-Version: 1.0\nTag: cp310-cp310-linux_x86_64\n'];
    const record = [...paths, `${info}/RECORD`].map((path) => `${path},,`).join('\n');
    const files = [...paths.map((path, index) => ({ path, data: texts[index] ?? '' }))];
    const bytes = zipOf([...files, { path: `${info}/RECORD`, data: record }]);
    const torch = await inspectPackage(sourceOf('torch-2.2.0+cpu-cp310-cp310-linux_x86_64.whl', bytes));
    expect(lint([await reportOf({}), torch]).problems).toMatchObject([{ code: 'CPU_ONLY_BUILD' }]);
    const other = await inspectPackage(sourceOf('trainer-1.0-py3-none-any.whl', wheelOf()));
    expect(lint([other]).problems).toEqual([]);
  });

  it('resolves a constant list of setup.py', async () => {
    const script = "REQUIRED = ['tensorflow-cpu']\nsetup(name='trainer', install_requires=REQUIRED)";
    expect(await verdictOf({ 'setup.py': script })).toEqual([FAILS]);
    const grown = script.replace('\n', "\nREQUIRED.append('numpy')\n");
    expect(await verdictOf({ 'setup.py': grown })).toEqual([]);
    const joined = script.replace("']", "'] + OTHERS");
    expect(await verdictOf({ 'setup.py': joined })).toEqual([]);
  });
});

describe('GPU_BUILD_WITHOUT_GPU', () => {
  it.each([
    ['torch==2.2.0+cu121'],
    ['jax[cuda12]>=0.4'],
    ['cupy-cuda12x'],
    ['nvidia-cublas-cu12==12.1.3.1'],
    ['bitsandbytes'],
    ['flash_attn'],
    ['tensorflow[and-cuda]'],
    ['tensorflow-gpu==2.9'],
  ])('is a warning: %s', async (requirement) => {
    expect(await verdictOf(setupOf(requirement), { machines: NO_GPU })).toEqual(['WARNING GPU_BUILD_WITHOUT_GPU']);
    expect(await verdictOf(setupOf(requirement))).toEqual([]);
  });

  it.each([['torch'], ['nvidia-ml-py'], ['jax'], ['torch==2.2.0+cu121; platform_system == "Windows"']])(
    'is not reported for %s',
    async (requirement) => {
      expect(await verdictOf(setupOf(requirement), { machines: NO_GPU })).toEqual([]);
    },
  );

  it('considers the GPUs of all machines', async () => {
    const machines = [...NO_GPU, { role: 'worker', count: 2, gpusPerMachine: 1 }];
    expect(await verdictOf(setupOf('cupy'), { machines })).toEqual([]);
  });
});

describe('TENSORFLOW_GPU_PACKAGE', () => {
  it.each([
    [['tensorflow-gpu']],
    [['tensorflow_gpu>=2.4']],
    [['tensorflow-gpu==2.12.0']],
    [['tensorflow-gpu==2.9', 'tensorflow==2.9']],
  ])('is a warning: %j', async (requirements) => {
    expect(await verdictOf(setupOf(...requirements))).toEqual(['WARNING TENSORFLOW_GPU_PACKAGE']);
  });

  it.each([
    [['tensorflow-gpu==2.9.1']],
    [['tensorflow-gpu>=1.15,<2.10']],
    [['tensorflow']],
    [['tensorflow-gpu<2.11; sys_platform != "darwin"', 'tensorflow; sys_platform == "darwin"']],
  ])('is not reported: %j', async (requirements) => {
    expect(await verdictOf(setupOf(...requirements))).toEqual([]);
  });

  it('is reported together with tensorflow', async () => {
    const { warnings } = lint([await reportOf(setupOf('tensorflow-gpu>=1', 'tensorflow>=1'))]);
    expect(warnings[0]?.message).toContain('both "tensorflow-gpu>=1" and "tensorflow>=1"');
  });
});

describe('BROKEN_REQUIREMENT', () => {
  it.each([
    ['-e .'],
    ['--index-url https://pypi.org/simple'],
    ['python>=3.5'],
    ['numpy=1.2'],
    ['numpy 1.2'],
    ['git+https://github.com/someone/something'],
    ['./wheels/own.whl'],
    ['sklearn'],
    ['skimage==0.0'],
  ])('is a warning: %s', async (requirement) => {
    expect(await verdictOf(setupOf(requirement))).toEqual(['WARNING BROKEN_REQUIREMENT']);
  });

  it.each([
    ['python-dateutil>=2'],
    ['numpy==1.26'],
    ['numpy (>=1.2)'],
    ['own @ git+https://github.com/someone/own'],
    ['scikit-learn'],
    ['sklearn==0.0'],
    ['sklearn-pandas'],
    [' google-cloud-core'],
    ['# a comment of a file that setup.py read'],
  ])('is not reported for %s', async (requirement) => {
    expect(await verdictOf(setupOf(requirement))).toEqual([]);
  });

  it('is a warning in a requirements file that is installed, where options and paths are valid', async () => {
    const text = '-r base.txt\n./own.whl\ngit+https://host.example/own\nnumpy==1.26\npython>=3.5\n';
    const { warnings } = lint([await reportOf({ 'requirements.txt': text })]);
    expect(warnings).toMatchObject([
      {
        message: expect.stringContaining('"python>=3.5" of trainer-1.0/requirements.txt'),
        path: 'trainer-1.0/requirements.txt',
      },
    ]);
  });

  it('is shown without the password in its URL', async () => {
    const requirement = 'git+https://user:hunter2@host.example/own.git?token=hunter2';
    const { warnings } = lint([await reportOf(setupOf(requirement))]);
    expect(warnings).toHaveLength(1);
    expect(JSON.stringify(warnings)).not.toContain('hunter2');
  });
});
