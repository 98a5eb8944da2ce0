import { DISTRIBUTION_LIBRARIES } from '#shared/python/python-packages.ts';

/** Indicators in source code of how a program distributes its work. */
export type DistributionIndicator =
  /** May use several GPUs of one machine. */
  | 'SEVERAL_GPUS'
  /** May work together with other machines. */
  | 'SEVERAL_MACHINES'
  /** Calls tf.distribute.MirroredStrategy: the GPUs of one machine (TensorFlow guide, "Distributed training"). */
  | 'MIRRORED'
  /** Calls torch.nn.DataParallel: one process on one machine (PyTorch, `torch.nn.DataParallel`). */
  | 'DATA_PARALLEL'
  /** Calls tf.distribute's ParameterServerStrategy, which stores variables on parameter servers. */
  | 'PARAMETER_SERVER'
  /** Mentions a strategy for several machines other than ParameterServerStrategy. */
  | 'OTHER_CLUSTER_STRATEGY'
  /** Uses TensorFlow's Estimator, which reads TF_CONFIG itself. */
  | 'ESTIMATOR';

const IMPORT = /^[ \t]*(?:import|from)[ \t]+([A-Za-z_]\w*)/gm;
const IMPORT_LIST = /^[ \t]*import[ \t]+([\w., \t]+)/gm;

/** Top-level names of imported modules, in blocks, too. */
export function findImports(code: string): string[] {
  const lists = [...code.matchAll(IMPORT_LIST)].flatMap(([, list = '']) => list.split(','));
  return [
    ...[...code.matchAll(IMPORT)].map(([, name = '']) => name),
    ...lists.map((name) => /^\s*(\w*)/.exec(name)?.[1] ?? ''),
  ];
}

/** Traits of a program, by patterns of its sources. For a trait that suppresses a finding, a mention in a comment counts, too. */
const TRAITS = {
  /** Mentions a GPU, or how XGBoost, LightGBM and CatBoost are configured to use one. */
  GPU_MENTION: /gpu|cuda|\bdevice|\btree_method\b|\btask_type\b/i,
  /** Installs packages itself, so that its imports say nothing about its requirements. */
  INSTALLS:
    /\bpip3?\b['",\s[\]]{1,6}install\b|\bgit clone\b|\bconda install\b|\bapt(?:-get)?['",\s]{1,4}(?:-y )?install\b|\bsubprocess[\s\S]{0,200}\binstall\b/,
  SYS_PATH: /\bsys\.path\b|\bsite\.addsitedir\b|\bPYTHONPATH\b/,
} as const;

/** Layers and pretrained models whose training takes long without a GPU, and what trains models. */
const TRAITS_OF_CODE = {
  DEEP_LAYER:
    /\bConv(?:2|3)[dD]\b|\bConvLSTM2D\b|\bMulti[Hh]eadAttention\b|\bTransformerEncoder|\bresnet\d+\b|\bResNet\d+|\bEfficientNet\w+|\bAutoModelFor\w+/,
  TRAINING: /\.backward\(|\.fit(?:_generator)?\(|\bGradientTape\b|\bTrainer\(|\.minimize\(|\btrain_and_evaluate\(/,
} as const;

export type ProgramTrait = keyof typeof TRAITS | keyof typeof TRAITS_OF_CODE;

/** @param code the source without strings and comments */
export function findTraits(text: string, code: string): ProgramTrait[] {
  const matching = (traits: Partial<Record<ProgramTrait, RegExp>>, source: string) =>
    Object.entries(traits).flatMap(([trait, pattern]) => (pattern.test(source) ? [trait as ProgramTrait] : []));
  return [...matching(TRAITS, text), ...matching(TRAITS_OF_CODE, code)];
}

/** Identifiers of APIs for several devices, including in strings, which may be arguments of a launcher. */
const ANY_DISTRIBUTION = anyOf(
  /\bdistributed?\b|Distributed|distribution_?strategy|Strategy\b/,
  /\bTF_CONFIG\b|\bCLUSTER_SPEC\b|\bWORLD_SIZE\b|\bLOCAL_RANK\b/,
  /\btorchrun\b|\bmpirun\b|\bhorovod|\bnccl\b|\bNCCL|\bFSDP\b/,
);

/** Identifiers of APIs for several GPUs of one machine. A device given by a variable may be any device. */
const SEVERAL_GPUS = anyOf(
  /DataParallel\b|\bmulti_gpu|\bnum_gpus\b|\bdevice_count\b|\bdevice_ids\b|\bCUDA_VISIBLE_DEVICES\b/,
  /\bcuda:(?:[1-9{%]|['"])|\b[Gg][Pp][Uu]:(?:[1-9{%]|['"])|\.cuda\([^)]|\bdevice\((?!['"])/,
  /\bpmap\b|\bpjit\b|\bxmap\b|\bshard|Sharding\b|\bMesh\b|\bdevice_put|\bmultiprocessing\b/,
);

/** Further identifiers of APIs for several machines. */
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
 * Finds indicators of distribution. Indicators that suppress a warning count anywhere, including comments; indicators
 * that cause one must be calls.
 *
 * @param text the source
 * @param code the source without strings and comments
 */
export function* findDistribution(text: string, code: string): Generator<DistributionIndicator> {
  const isMirrored = MIRRORED_CALL.test(code);
  const isDataParallel = DATA_PARALLEL_CALL.test(code);
  // These are for one machine: only other identifiers indicate several.
  const otherText = text.replace(/\bMirroredStrategy\b|\bDataParallel\b|\btf\.(?:contrib\.)?distribute\b/g, '');
  const isEstimator = ESTIMATOR.test(text);
  const isAny = ANY_DISTRIBUTION.test(otherText) || importsDistributionLibrary(code);
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

function importsDistributionLibrary(code: string): boolean {
  return [...code.matchAll(IMPORT)].some(([, name = '']) => DISTRIBUTION_LIBRARIES.has(name));
}

/** A pattern that matches if one of these does. */
function anyOf(...patterns: readonly RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => source).join('|'));
}

/**
 * Statements that only Python 2 can parse: `print "x"`, `print x`, `exec "x"`, `raise E, "x"`. Ambiguous statements do
 * not match: `print (x)`, `print >>f, x`, `print in names`, `except E, e` (which Python 3.14 can parse).
 */
const PYTHON_2_ONLY =
  /^\s*(?:(?:print|exec)[ \t]+(?!(?:in|is|and|or|if|not|else|for)\b)["\w]|raise[ \t]+[\w.]+[ \t]*,)/;

/** A fast check that excludes most sources. */
const MAYBE_PYTHON_2 = /\b(?:print|exec)[ \t]+["\w]|\braise[ \t]+[\w.]+[ \t]*,/;

/**
 * The number, from 1, of the first line that Python 3 cannot parse, in a source without strings and comments; null if
 * there is none. Checks only starts of statements, not lines inside brackets or continuation lines.
 */
export function findPython2(code: string): number | null {
  if (!MAYBE_PYTHON_2.test(code)) {
    return null;
  }
  let depth = 0;
  let isContinued = false;
  for (const [index, line] of code.split('\n').entries()) {
    if (depth === 0 && !isContinued && PYTHON_2_ONLY.test(line)) {
      return index + 1;
    }
    depth = Math.max(0, depth + countOf(line, /[([{]/g) - countOf(line, /[)\]}]/g));
    isContinued = line.endsWith('\\') || line.endsWith('\\\r');
  }
  return null;
}

function countOf(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}
