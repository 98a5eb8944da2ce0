import type { Frame } from '#shared/diagnosis/profile/profile-samples.ts';

/**
 * What a stack is for. INPUT: loading, decoding or waiting for training data. NATIVE: a call into a library that
 * computes, on the CPU or a GPU. WAIT_FOR_OTHERS: communication between replicas, or waiting for child processes.
 */
export const FRAME_KINDS = ['STARTUP', 'INPUT', 'SAVE', 'WAIT_FOR_OTHERS', 'NATIVE', 'PYTHON'] as const;
export type FrameKind = (typeof FRAME_KINDS)[number];

/** As users read them. */
export const FRAME_KIND_NAMES: Readonly<Record<FrameKind, string>> = {
  STARTUP: 'import',
  INPUT: 'input',
  SAVE: 'save',
  WAIT_FOR_OTHERS: 'wait',
  NATIVE: 'native',
  PYTHON: 'Python',
};

type Rule = { readonly kind: FrameKind; readonly file: RegExp; readonly name?: RegExp };

/** In this order, each for every frame of a stack: an import is an import even if a data loader causes it. */
const STACK_RULES: readonly Rule[] = [
  { kind: 'STARTUP', file: /^<frozen importlib\._bootstrap/ },
  { kind: 'SAVE', file: /\btorch\/serialization\.py$/, name: /^_?(save|legacy_save)$/ },
  { kind: 'SAVE', file: /\b(torch\/distributed\/checkpoint|orbax\/checkpoint|keras\/src\/saving)\// },
  { kind: 'SAVE', file: /\btensorflow\/python\/(checkpoint|saved_model)\// },
  { kind: 'WAIT_FOR_OTHERS', file: /\btorch\/distributed\/(distributed_c10d|c10d_logger|rendezvous)\.py$/ },
  { kind: 'WAIT_FOR_OTHERS', file: /\btorch\/multiprocessing\/spawn\.py$/, name: /^(join|_join)/ },
  { kind: 'WAIT_FOR_OTHERS', file: /\bsubprocess\.py$/, name: /^(wait|_wait|communicate|_communicate)$/ },
  { kind: 'WAIT_FOR_OTHERS', file: /\bmultiprocessing\/(process|popen_\w+)\.py$/, name: /^(join|wait|poll)$/ },
  { kind: 'INPUT', file: /\btorch\/utils\/data\// },
  { kind: 'INPUT', file: /\btensorflow\/python\/data\// },
  { kind: 'INPUT', file: /\bkeras\/src\/trainers\/data_adapters\// },
  { kind: 'INPUT', file: /\bkeras\/src\/(utils\/(image|audio|text)_dataset_utils|legacy\/preprocessing\/)/ },
  { kind: 'INPUT', file: /-packages\/(torchdata|datasets|webdataset|streaming|grain|tfds|tensorflow_datasets)\// },
  {
    kind: 'INPUT',
    file: /-packages\/(torchvision\/(datasets|transforms|io)|torchaudio|albumentations|imgaug|kornia_rs)\//,
  },
  { kind: 'INPUT', file: /-packages\/(PIL|cv2|imageio|skimage\/io|decord|av|soundfile|librosa|nvidia\/dali)\b/ },
  { kind: 'INPUT', file: /-packages\/(pandas\/io|pyarrow|h5py|zarr|lmdb|fsspec|gcsfs|s3fs|smart_open)\b/ },
  { kind: 'INPUT', file: /-packages\/(google\/cloud\/storage|google\/resumable_media|urllib3|requests|aiohttp)\// },
  {
    kind: 'INPUT',
    file: /\b(http\/client|urllib\/request|tarfile|zipfile|gzip|bz2|lzma|csv|_compression|shelve)\.py$/,
  },
  // The usual names of users' own functions.
  {
    kind: 'INPUT',
    file: /./,
    name: /^_?(load|read|decode|fetch|next|get|augment|preprocess|collate)_?(next_)?(raw_)?(batch(es)?|data|images?|examples?|records?|samples?|rows?|audio|text|fn)$/,
  },
];

/** By the innermost frame alone. */
const INNERMOST_RULES: readonly Rule[] = [
  {
    kind: 'NATIVE',
    file: /\btorch\/(nn|autograd|optim|cuda|_tensor|functional|_ops|_dynamo|_inductor|amp|linalg|fx)\b/,
  },
  {
    kind: 'NATIVE',
    file: /-packages\/(torch|tensorflow|keras|jax|jaxlib|numpy|scipy|sklearn|xgboost|lightgbm|catboost|cupy|triton)\//,
  },
];

/** A frame of the program itself, rather than of Python or a package. */
export function isOwnFrame({ file }: Frame): boolean {
  return file !== '' && !/^<|\/(site|dist)-packages\/|\/lib\/python\d|^~$/.test(file);
}

/** The kind that the rules for whole stacks give, or null. */
export function kindOfStack(stack: readonly Frame[]): FrameKind | null {
  return STACK_RULES.find((rule) => stack.some((frame) => matches(rule, frame)))?.kind ?? null;
}

/** Whether the innermost frame is of a library that computes in native code. */
export function isInNativeLibrary(stack: readonly Frame[]): boolean {
  const innermost = stack.at(-1);
  return innermost !== undefined && INNERMOST_RULES.some((rule) => matches(rule, innermost));
}

function matches({ file, name }: Rule, frame: Frame): boolean {
  return file.test(frame.file) && (name === undefined || name.test(frame.name));
}
