import type { Label } from '#shared/diagnosis/rules/labels.ts';
import { describeNearest } from '#shared/diagnosis/rules/module-names.ts';
import type { Groups, Rule } from '#shared/diagnosis/rules/rule.ts';
import type { CauseCode } from '#shared/domain/cause.ts';

type Row = {
  readonly label?: Label;
  readonly pattern: RegExp;
  readonly scope?: Rule['scope'];
  readonly explain?: (groups: Groups) => string;
  readonly remedy: string;
  readonly example: string;
  readonly code?: CauseCode;
};

/** What libraries no longer have, for programs that were written for earlier versions of them. */
const MIGRATIONS: readonly Row[] = [
  {
    pattern: /^AttributeError: module 'numpy' has no attribute '(?<name>\w+)'/,
    explain: ({ name }) => `The installed NumPy has no np.${name}.`,
    remedy:
      'Since NumPy 1.24, np.float, np.int, np.bool and np.object are the builtins float, int, bool and object; since 2.0, np.float_ is np.float64 and np.Inf is np.inf. Change the program, or require numpy<1.24 (numpy<2).',
    example: "AttributeError: module 'numpy' has no attribute 'float'.",
  },
  {
    label: 'import_error',
    pattern: /numpy\.dtype size changed|numpy\.core\.multiarray failed to import|_ARRAY_API not found/,
    explain: () => 'A package was built for another version of NumPy than the one that is installed.',
    remedy: 'Require numpy<2, or a newer version of the package that is imported in the last frame.',
    example: 'ValueError: numpy.dtype size changed, may indicate binary incompatibility.',
  },
  {
    pattern: /^ValueError: Argument\(s\) not recognized: \{'(?<name>\w+)'/,
    explain: ({ name }) => `An optimizer of Keras 3 has no argument ${name}.`,
    remedy:
      'Write learning_rate instead of lr, and a schedule instead of decay; or require tf_keras and set TF_USE_LEGACY_KERAS=1 under env of the job file.',
    example: "ValueError: Argument(s) not recognized: {'lr': 0.1}",
  },
  {
    pattern: /^\w+: .{0,40}\bis not supported in Keras 3/,
    remedy:
      'The program was written for Keras 2: require tf_keras and set TF_USE_LEGACY_KERAS=1 under env of the job file, or change what the message names.',
    example: 'ImportError: `keras.optimizers.legacy` is not supported in Keras 3. When using `tf.keras`, to continue',
  },
  {
    pattern: /^ValueError: .{0,120}(?:filepath extension for saving|must end in `\.(?:weights\.h5|keras)`)/,
    explain: () => 'Keras 3 saves to paths with certain endings only.',
    remedy:
      'End the path in .keras (a whole model), in .weights.h5 (weights), or call model.export() for a SavedModel.',
    example: 'ValueError: Invalid filepath extension for saving. Please add either a `.keras` extension',
  },
  {
    pattern: /^AttributeError: '(?:DataFrame|Series|Index)' object has no attribute '(?<name>\w+)'/,
    explain: ({ name }) => `The installed pandas has no ${name} here.`,
    remedy:
      'pandas 2 has pd.concat instead of append, items instead of iteritems, loc and iloc instead of ix, to_numpy instead of as_matrix. Change the program, or require pandas<2; if it is the name of a column, check the data.',
    example: "AttributeError: 'DataFrame' object has no attribute 'append'. Did you mean: '_append'?",
  },
  {
    label: 'import_error',
    pattern: /^TypeError: Descriptors cannot (?:not )?be created directly/,
    explain: () => 'A package has generated code for an older version of protobuf.',
    remedy: 'Require protobuf<4 (protobuf<3.21), or a newer version of the package that is imported in the last frame.',
    example: 'TypeError: Descriptors cannot be created directly.',
  },
  {
    label: 'build_failure',
    pattern: /'sklearn' PyPI package is deprecated/,
    scope: 'text',
    remedy: 'Write scikit-learn instead of sklearn in the requirements.',
    example: "  The 'sklearn' PyPI package is deprecated, use 'scikit-learn'",
  },
  {
    label: 'import_error',
    pattern: /^\w*Error: .*\bsklearn\.(?:externals|cross_validation|grid_search)\b/,
    explain: () => 'The installed scikit-learn no longer has this module.',
    remedy:
      'Import joblib itself instead of sklearn.externals.joblib, and sklearn.model_selection instead of cross_validation and grid_search.',
    example: "ImportError: cannot import name 'joblib' from 'sklearn.externals' (/v/sklearn/externals/__init__.py)",
  },
  {
    // Not a damaged file: PyTorch does not run what is in it.
    pattern: /Weights only load failed|Unsupported global: GLOBAL/,
    scope: 'text',
    explain: () => 'Since PyTorch 2.6, torch.load reads tensors only, and the file has other objects.',
    remedy:
      'If the file is your own, write torch.load(path, weights_only=False); better, save and load model.state_dict().',
    example: '_pickle.UnpicklingError: Weights only load failed. This file can still be loaded, to do so you have two',
  },
  {
    pattern: /^AttributeError: module '(?:tensorflow|tensorflow\.\w+)' has no attribute '(?<name>\w+)'/,
    explain: ({ name }) => `The installed TensorFlow has no ${name}.`,
    remedy:
      'What TensorFlow 1 had is in tf.compat.v1, and `tf_upgrade_v2 --intree DIRECTORY --outtree DIRECTORY_V2` converts the code. Estimators ended with 2.15: require tensorflow<2.16.',
    example: "AttributeError: module 'tensorflow' has no attribute 'placeholder'",
  },
  {
    label: 'import_error',
    pattern: /No module named '(?<name>(?:distutils|imp|pkg_resources)(?:\.\w+)?)'/,
    explain: ({ name }) => `This Python has no module ${name}.`,
    remedy:
      'Python 3.12 has no distutils and no imp, and setuptools 81 no pkg_resources: require setuptools<81 (it has distutils, too), or choose a runtime with an earlier Python.',
    example: "ModuleNotFoundError: No module named 'distutils'",
  },
  {
    label: 'import_error',
    pattern: /No module named 'tensorflow\.(?<name>contrib|examples)/,
    explain: ({ name }) => `TensorFlow 2 has no tensorflow.${name}.`,
    remedy:
      '`tf_upgrade_v2 --intree DIRECTORY --outtree DIRECTORY_V2` names what replaces each use, such as tf_slim or tf_keras.',
    example: "ModuleNotFoundError: No module named 'tensorflow.contrib'",
  },
  {
    label: 'import_error',
    pattern: /^ImportError:\s+\W?(?<name>\w+)\W? has been removed/,
    explain: ({ name }) => `The installed version of the library no longer has ${name}.`,
    remedy: 'Read on in the message for what replaces it, or require the version that the program was written for.',
    example: 'ImportError: `load_boston` has been removed from scikit-learn since version 1.2.',
  },
  {
    pattern: /^AttributeError: module 'collections' has no attribute '(?<name>\w+)'/,
    explain: ({ name }) => `Since Python 3.10, ${name} is in collections.abc only.`,
    remedy: 'Import it from collections.abc, or require a newer version of the package that is in the last frame.',
    example: "AttributeError: module 'collections' has no attribute 'Iterable'",
  },
  {
    pattern: /^TypeError: (?<what>\w[\w.]*)\(\) got an unexpected keyword argument '(?<name>\w+)'/,
    explain: ({ what, name }) => `${what}() has no argument ${name}.`,
    remedy:
      'If it is of a library, its version is another one than the program was written for: pin that version, or change the call. For example, evaluation_strategy of Transformers is eval_strategy, gpus of Lightning is accelerator and devices, sparse of scikit-learn is sparse_output.',
    example: "TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'evaluation_strategy'",
  },
];

/** What the machine or the job lacks, where the message alone does not say what to do. */
const MISSING: readonly Row[] = [
  {
    pattern: /(?:<frozen os>|\/os\.py)", line \d{1,5}, in __getitem__.{0,200}KeyError: '(?<name>\w{1,100})'/,
    scope: 'text',
    explain: ({ name }) => `The environment variable ${name} is not set.`,
    remedy: 'Set it under env of the job file or, if it is a credential, store it and name it under secrets.',
    example: '  File "<frozen os>", line 679, in __getitem__ KeyError: \'DATA_DIR\'',
  },
  {
    pattern:
      /(?:_execute_child.{0,300}No such file or directory: |ExecutableNotFound: failed to execute (?:\w{1,12}\()?\[?)'(?<name>[^'/]{1,100})'/,
    scope: 'text',
    explain: ({ name }) => `The command ${name} is not on the VM.`,
    remedy:
      'Install it in the image of a container (docs/containers.md), require a Python package that brings it, or do without it.',
    example: "graphviz.backend.execute.ExecutableNotFound: failed to execute PosixPath('dot'), make sure",
  },
  {
    label: 'permission_denied',
    pattern:
      /gated repo|\bGatedRepoError\b|huggingface\.co\/\S{1,200}.{0,200}\b401\b|\b401 Client Error.{0,200}huggingface\.co/,
    scope: 'text',
    remedy:
      "Accept the conditions on the model's page if it is gated, store a token of Hugging Face as a secret, and name it in the job file: secrets: { HF_TOKEN: NAME }.",
    example: 'OSError: You are trying to access a gated repo.',
  },
  {
    label: 'permission_denied',
    pattern: /api_key not configured \(no-tty\)/,
    scope: 'text',
    remedy:
      'Store the key of Weights & Biases as a secret, and name it in the job file: secrets: { WANDB_API_KEY: NAME }; or set WANDB_MODE=offline under env.',
    example: 'wandb.errors.UsageError: api_key not configured (no-tty). call wandb.login(key=[your_api_key])',
  },
  {
    label: 'import_error',
    pattern: /lib(?:GL|gthread-2\.0|SM|Xext|Xrender)\.so\.\d: cannot open shared object file/,
    scope: 'text',
    explain: () => 'A library for windows on a screen is not on the VM.',
    remedy: 'Require opencv-python-headless instead of opencv-python.',
    example: 'ImportError: libGL.so.1: cannot open shared object file: No such file or directory',
  },
  {
    pattern: /no display name and no \$DISPLAY|Cannot connect to X server|could not connect to display/,
    scope: 'text',
    explain: () => 'The program opens a window, and the VM has no screen.',
    remedy: 'Write figures to files: set MPLBACKEND=Agg under env of the job file for matplotlib.',
    example: '_tkinter.TclError: no display name and no $DISPLAY environment variable',
  },
  {
    pattern: /^UnicodeDecodeError: '(?<name>[\w-]+)' codec can't decode byte/,
    explain: ({ name }) => `A file that the program reads as text is not in ${name}.`,
    remedy:
      "Pass the encoding that the file has (encoding='latin-1', for example); a file that is compressed or binary is opened otherwise (gzip.open, mode 'rb').",
    example: "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xe9 in position 12: invalid continuation byte",
  },
  {
    pattern: /^(?:AttributeError|TypeError|(?:_?pickle\.)?PicklingError): (?:[Cc]an't|[Cc]annot) (?:get|pickle)\b/,
    explain: () => 'An object cannot be sent to another process, or saved.',
    remedy:
      'Define functions and classes at the top level of a module instead of lambdas and local ones, or use no loader workers (num_workers=0); save state dicts instead of whole objects.',
    example: "AttributeError: Can't pickle local object 'main.<locals>.<lambda>'",
  },
  {
    label: 'shape_or_dtype_error',
    pattern: /torch\.embedding\(.{0,200}index out of range|srcIndex < srcSelectDimSize/,
    scope: 'text',
    explain: () => 'An index is not below the number of rows of the embedding.',
    remedy:
      'Give the embedding as many rows as there are ids (resize_token_embeddings(len(tokenizer)) in Transformers), and check the largest and the smallest id of the data.',
    example: 'Indexing.cu:1290: indexSelectLargeIndex: Assertion `srcIndex < srcSelectDimSize` failed.',
  },
  {
    label: 'checkpoint_corrupt',
    pattern: /(?:Missing|Unexpected) key\(s\) in state_dict|size mismatch for \S+ copying a param/,
    scope: 'text',
    explain: () => 'The checkpoint is of another model than the one that the program builds.',
    remedy:
      'Build the model with the arguments with which the checkpoint was saved; if only a part is to be loaded, write load_state_dict(..., strict=False).',
    example: 'Missing key(s) in state_dict: "fc.weight". ',
  },
  {
    label: 'pip_install_failure',
    pattern: /satisfies the requirement (?<name>[\w.-]{1,100})[^(]{0,100}\(from versions: none\)/,
    scope: 'text',
    explain: ({ name = '' }) => `The package index has no package ${name}.${describeNearest(name)}`,
    remedy: 'Correct its name in requirements.txt, pyproject.toml or setup.py, or add the index that has it.',
    example: 'ERROR: Could not find a version that satisfies the requirement scikit-lern (from versions: none)',
  },
  {
    label: 'build_failure',
    pattern: /BackendUnavailable: Cannot import '(?<name>[\w.]{1,100})'/,
    scope: 'text',
    explain: ({ name }) => `The package is built by ${name}, which is not installed.`,
    remedy:
      'Name what brings it under requires of [build-system] in pyproject.toml, or submit a wheel (pip wheel --no-deps .).',
    example: "pip._vendor.pyproject_hooks._impl.BackendUnavailable: Cannot import 'poetry.core.masonry.api'",
  },
];

/** They come before the rules that know only the kind of a failure. */
export const MIGRATION_RULES: readonly Rule[] = [...MIGRATIONS, ...MISSING].map(
  ({ label = 'user_exception', pattern, scope = 'exception', ...row }): Rule => ({
    label,
    patterns: [pattern],
    scope,
    canRetryHelp: false,
    ...(label === 'import_error' && { code: 'IMPORT_FAILED' }),
    ...row,
  }),
);
