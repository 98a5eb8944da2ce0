import { describe, expect, it } from 'vitest';
import { type Files, lint, ONE_GPU, reportOf, verdictOf } from '../../support/package/lint-subject.ts';

const FOUR_GPUS = [{ role: 'master', count: 1, gpusPerMachine: 4 }];
const THREE_MACHINES = [...ONE_GPU, { role: 'worker', count: 2, gpusPerMachine: 1 }];
const MISSING = ['WARNING NO_DISTRIBUTION_STRATEGY'];
const MISFIT = ['WARNING STRATEGY_MISFIT'];

const program = (source: string): Files => ({ 'trainer/task.py': source });

describe('several GPUs in one machine', () => {
  it.each([
    ['import tensorflow as tf\nmodel.fit(data)\n'],
    ['import torch\nmodel.to(torch.device("cuda:0"))\n'],
    ['import torch\ntorch.device("cuda" if torch.cuda.is_available() else "cpu")\n'],
    ['from jax import numpy\nstep = jax.jit(train)\n'],
    ['import tensorflow as tf\nwith tf.device("/gpu:0"):\n  pass\ntf.config.list_physical_devices("GPU")\n'],
    ['import tensorflow_probability as tfp\nimport tensorflow as tf\nd = tfp.distributions.Normal(0, 1)\n'],
    ['import tensorflow as tf\ntf.estimator.train_and_evaluate(e, t, v)\n'],
  ])('are a warning for %j', async (source) => {
    expect(await verdictOf(program(source), { machines: FOUR_GPUS })).toEqual(MISSING);
    expect(await verdictOf(program(source))).toEqual([]);
  });

  it.each([
    ['import tensorflow as tf\ns = tf.distribute.MirroredStrategy()\n'],
    ['import tensorflow as tf\nfrom trainer import other\nother.strategy = tf.distribute.get_strategy\n'],
    ['import torch\nmodel = torch.nn.DataParallel(model)\n'],
    ['import torch\nimport pytorch_lightning as pl\npl.Trainer(devices=4)\n'],
    ['import torch\nfrom accelerate import Accelerator\n'],
    ['import torch\nfrom transformers import Trainer\n'],
    ['import torch\nsubprocess.run(["torchrun", "train.py"])\n'],
    ['import tensorflow as tf\nimport horovod.tensorflow as hvd\n'],
    ['import jax\nstep = jax.pmap(train)\n'],
    ['import jax\nfrom jax.sharding import NamedSharding\n'],
    ['import tensorflow as tf\nfor i in range(4):\n  with tf.device(f"/gpu:{i}"):\n    pass\n'],
    ['import torch\nmodel.to("cuda:1")\n'],
    ['import torch\nmodel.to(torch.device(args.device))\n'],
  ])('are not reported for %j', async (source) => {
    expect(await verdictOf(program(source), { machines: FOUR_GPUS })).toEqual([]);
  });

  it('are not reported if the indicator is in another source or package, or not all sources were scanned', async () => {
    const task = program('import torch\n');
    expect(await verdictOf(task, { machines: FOUR_GPUS })).toEqual(MISSING);
    const other = { 'trainer/models/net.py': 'DistributedDataParallel(net)' };
    expect(await verdictOf({ ...task, ...other }, { machines: FOUR_GPUS })).toEqual([]);
    const packages = [await reportOf(task), await reportOf(other, 'net-1.0.tar.gz')];
    expect(lint(packages, { machines: FOUR_GPUS }).warnings).toEqual([]);
    const large = { 'trainer/data.py': '#'.repeat(300_000) };
    expect(await verdictOf({ ...task, ...large }, { machines: FOUR_GPUS })).toEqual([]);
  });

  it('are not reported for a program without a framework, a program outside the package, or TPUs', async () => {
    expect(await verdictOf(program('import json\n'), { machines: FOUR_GPUS })).toEqual([]);
    const report = await reportOf({ 'trainer/other.py': 'import torch\n' });
    const elsewhere = {
      ...report,
      validateModule: () => ({ problems: [{ code: 'X', message: '', remedy: '' }], warnings: [] }),
    };
    expect(lint([report], { machines: FOUR_GPUS }).warnings).toHaveLength(1);
    expect(lint([elsewhere], { machines: FOUR_GPUS }).warnings).toEqual([]);
    expect(lint([report], { machines: FOUR_GPUS, isTpuJob: true }).warnings).toEqual([]);
  });

  it('ignores a virtual environment inside the package', async () => {
    const vendored = { 'trainer/.venv/lib/site-packages/tf.py': 'MirroredStrategy()' };
    const files = { ...program('import tensorflow\n'), ...vendored };
    expect(await verdictOf(files, { machines: FOUR_GPUS })).toEqual(MISSING);
  });
});

describe('several machines', () => {
  it.each([['import tensorflow as tf\nmodel.fit(data)\n'], ['import torch\ntrain()\n']])(
    'are a warning for %j',
    async (source) => {
      expect(await verdictOf(program(source), { machines: THREE_MACHINES })).toEqual(MISSING);
      const ps = [...ONE_GPU, { role: 'ps', count: 1, gpusPerMachine: 0 }];
      expect(await verdictOf(program(source), { machines: ps })).toEqual(MISSING);
    },
  );

  it.each([
    ['import tensorflow as tf\ntf.estimator.train_and_evaluate(e, t, v)\n'],
    ['import tensorflow as tf\nos.environ["TF_CONFIG"]\n'],
    ['import tensorflow as tf\ntf.distribute.MultiWorkerMirroredStrategy()\n'],
    ['import torch.distributed as dist\ndist.init_process_group("nccl")\n'],
    ['import torch\nos.environ["RANK"]\n'],
    ['import jax\njax.distributed.initialize()\n'],
    ['import torch\nimport ray\n'],
  ])('are not reported for %j', async (source) => {
    expect(await verdictOf(program(source), { machines: THREE_MACHINES })).toEqual([]);
  });

  it('are not reported if the second machine is an evaluator', async () => {
    const machines = [...ONE_GPU, { role: 'evaluator', count: 1, gpusPerMachine: 0 }];
    expect(await verdictOf(program('import tensorflow\n'), { machines })).toEqual([]);
  });
});

describe('STRATEGY_MISFIT', () => {
  it.each([
    ['import tensorflow as tf\ntf.distribute.MirroredStrategy()\n'],
    ['import tensorflow as tf\ndef train_and_evaluate(hparams):\n  tf.distribute.MirroredStrategy()\n'],
    ['import torch\nnn.DataParallel(net)\n'],
    ['import tensorflow as tf\ntf.distribute.experimental.ParameterServerStrategy(resolver)\n'],
  ])('is reported for several machines: %j', async (source) => {
    expect(await verdictOf(program(source), { machines: THREE_MACHINES })).toEqual(MISFIT);
    expect(await verdictOf(program(source))).toEqual([]);
  });

  it.each([
    [
      'a strategy chosen by the number of workers',
      'import tensorflow as tf\ns = tf.distribute.MirroredStrategy() if n == 1 else ' +
        'tf.distribute.MultiWorkerMirroredStrategy()\n',
    ],
    [
      'a strategy mentioned in a comment',
      'import tensorflow as tf\n# not MirroredStrategy()\nos.environ["TF_CONFIG"]\n',
    ],
    ['a program that reads TF_CONFIG', 'import tensorflow as tf\nMirroredStrategy()\nos.environ["TF_CONFIG"]\n'],
    ['two PyTorch strategies', 'import torch\nDataParallel(net)\nDistributedDataParallel(net)\n'],
  ])('is not reported for %s', async (_what, source) => {
    expect(await verdictOf(program(source), { machines: THREE_MACHINES })).toEqual([]);
  });

  it('is reported for Estimators on several machines with several GPUs', async () => {
    const source = [
      'import tensorflow as tf',
      'strategy = tf.distribute.MirroredStrategy() if gpus > 1 else None',
      'config = tf.estimator.RunConfig(train_distribute=strategy)',
      'cluster = os.environ["TF_CONFIG"]',
    ].join('\n');
    const machines = [...FOUR_GPUS, { role: 'worker', count: 2, gpusPerMachine: 4 }];
    expect(await verdictOf(program(source), { machines })).toEqual(MISFIT);
    expect(await verdictOf(program(source), { machines: THREE_MACHINES })).toEqual([]);
    expect(await verdictOf(program(source), { machines: FOUR_GPUS })).toEqual([]);
  });

  it('is not reported on one machine, or with parameter servers', async () => {
    const many = program('import tensorflow as tf\ntf.distribute.MultiWorkerMirroredStrategy()\n');
    expect(await verdictOf(many, { machines: FOUR_GPUS })).toEqual([]);
    const ps = program('import tensorflow as tf\ntf.distribute.experimental.ParameterServerStrategy()\n');
    const machines = [...THREE_MACHINES, { role: 'ps', count: 1, gpusPerMachine: 0 }];
    expect(await verdictOf(ps, { machines })).toEqual([]);
  });
});
