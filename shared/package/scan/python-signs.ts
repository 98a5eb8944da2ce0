/** How a program spreads its work, as far as its source tells. */
export type DistributionSign =
  /** Something of a program that may use several GPUs of one machine. */
  | 'SEVERAL_GPUS'
  /** Something of a program that may work with other machines. */
  | 'SEVERAL_MACHINES'
  /** Calls tf.distribute.MirroredStrategy: the GPUs of one machine (TensorFlow guide, "Distributed training"). */
  | 'MIRRORED'
  /** Calls torch.nn.DataParallel: one process on one machine (PyTorch, `torch.nn.DataParallel`). */
  | 'DATA_PARALLEL'
  /** Calls tf.distribute's ParameterServerStrategy, whose variables lie on the parameter servers. */
  | 'PARAMETER_SERVER'
  /** Names any strategy for several machines but ParameterServerStrategy. */
  | 'OTHER_CLUSTER_STRATEGY'
  /** Uses TensorFlow's Estimator, which reads TF_CONFIG by itself. */
  | 'ESTIMATOR';

/** Frameworks that use one GPU of one machine unless the program asks for more. */
export const FRAMEWORKS: ReadonlySet<string> = new Set(['tensorflow', 'keras', 'torch', 'jax', 'flax']);

/** Libraries that compute on GPUs without TensorFlow, PyTorch or JAX. */
export const OTHER_GPU_LIBRARIES: ReadonlySet<string> = new Set([
  'xgboost',
  'lightgbm',
  'catboost',
  'cupy',
  'cudf',
  'cuml',
  'numba',
  'mxnet',
  'paddle',
  'onnxruntime',
  'pycuda',
  'tensorrt',
  'vllm',
]);

/** Libraries that spread a training by themselves, or start the processes that do. */
const DISTRIBUTES_ITSELF: ReadonlySet<string> = new Set([
  'accelerate',
  'autogluon',
  'byteps',
  'catalyst',
  'colossalai',
  'composer',
  'dask',
  'deepspeed',
  'detectron2',
  'fairscale',
  'fairseq',
  'fastai',
  'horovod',
  'ignite',
  'lightning',
  'lightning_fabric',
  'ludwig',
  'megatron',
  'mmcv',
  'mmengine',
  'mpi4py',
  'nemo',
  'orbit',
  'pyspark',
  'pytorch_lightning',
  'ray',
  'sentence_transformers',
  'simpletransformers',
  't5x',
  'tensor2tensor',
  'tf_agents',
  'torchrun',
  'transformers',
  'trl',
  'ultralytics',
  'unsloth',
  'vllm',
]);

const IMPORT = /^[ \t]*(?:import|from)[ \t]+([A-Za-z_]\w*)/gm;

/** Top-level names of imported modules that any check asks for; of `import a, b` only the first. */
export function findImports(code: string): string[] {
  const names = [...code.matchAll(IMPORT)].map(([, name = '']) => name);
  return names.filter((name) => FRAMEWORKS.has(name) || OTHER_GPU_LIBRARIES.has(name));
}

/** Words of the APIs that use several devices, wherever they stand: a string may be the argument of a launcher. */
const ANY_DISTRIBUTION = anyOf(
  /\bdistributed?\b|Distributed|distribution_?strategy|Strategy\b/,
  /\bTF_CONFIG\b|\bCLUSTER_SPEC\b|\bWORLD_SIZE\b|\bLOCAL_RANK\b/,
  /\btorchrun\b|\bmpirun\b|\bhorovod|\bnccl\b|\bNCCL|\bFSDP\b/,
);

/** Words of the APIs that use several GPUs of one machine; a device that is not written out may be any. */
const SEVERAL_GPUS = anyOf(
  /DataParallel\b|\bmulti_gpu|\bnum_gpus\b|\bdevice_count\b|\bdevice_ids\b|\bCUDA_VISIBLE_DEVICES\b/,
  /\bcuda:(?:[1-9{%]|['"])|\b[Gg][Pp][Uu]:(?:[1-9{%]|['"])|\.cuda\([^)]|\bdevice\((?!['"])/,
  /\bpmap\b|\bpjit\b|\bxmap\b|\bshard|Sharding\b|\bMesh\b|\bdevice_put|\bmultiprocessing\b/,
);

/** Words of the APIs that work with other machines, besides those above. */
const SEVERAL_MACHINES = anyOf(
  /\bClusterSpec\b|ClusterResolver\b|\breplica_device_setter\b|\btrain\.Server\b/,
  /\blearn_runner\b|\bRANK\b/,
);

const OTHER_CLUSTER_STRATEGY = anyOf(
  /MultiWorkerMirrored|CollectiveAllReduce|\bTPUStrategy\b|\bhorovod/,
  /\btorch\.distributed\b|DistributedDataParallel|\binit_process_group\b/,
);

const MIRRORED_CALL = /\bMirroredStrategy[ \t]*\(/;
const DATA_PARALLEL_CALL = /\bDataParallel[ \t]*\(/;
const PARAMETER_SERVER_CALL = /\bParameterServerStrategy(?:V[12])?[ \t]*\(/;
const ESTIMATOR = /\b(?:tf|v1|tensorflow)\.estimator\b|\bestimator\.(?:train_and_evaluate|RunConfig)\b/;

/**
 * What speaks for distribution. Words that keep a warning back count wherever they stand, in a comment too; what raises
 * one must be a call.
 *
 * @param text the source as it is
 * @param code the source without strings and comments
 */
export function* findDistribution(text: string, code: string): Generator<DistributionSign> {
  const isMirrored = MIRRORED_CALL.test(code);
  const isDataParallel = DATA_PARALLEL_CALL.test(code);
  // What is called is a strategy for one machine: only further words can speak for several.
  const beyond = text.replace(/\bMirroredStrategy\b|\bDataParallel\b|\btf\.(?:contrib\.)?distribute\b/g, '');
  const isEstimator = ESTIMATOR.test(text);
  const isAny = ANY_DISTRIBUTION.test(beyond) || importsDistributor(code);
  if (isMirrored) {
    yield 'MIRRORED';
  }
  if (isDataParallel) {
    yield 'DATA_PARALLEL';
  }
  if (PARAMETER_SERVER_CALL.test(code)) {
    yield 'PARAMETER_SERVER';
  }
  if (OTHER_CLUSTER_STRATEGY.test(text)) {
    yield 'OTHER_CLUSTER_STRATEGY';
  }
  if (isEstimator) {
    yield 'ESTIMATOR';
  }
  if (isAny || ANY_DISTRIBUTION.test(text) || SEVERAL_GPUS.test(text)) {
    yield 'SEVERAL_GPUS';
  }
  if (isAny || isEstimator || SEVERAL_MACHINES.test(text)) {
    yield 'SEVERAL_MACHINES';
  }
}

function importsDistributor(code: string): boolean {
  return [...code.matchAll(IMPORT)].some(([, name = '']) => DISTRIBUTES_ITSELF.has(name));
}

/** One pattern that is found where one of these is. */
function anyOf(...patterns: readonly RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => source).join('|'));
}
