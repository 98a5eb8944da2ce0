import { type Row, toRule } from '#shared/diagnosis/rules/row.ts';
import type { Rule } from '#shared/diagnosis/rules/rule.ts';

/** The names that libraries no longer have, for programs that were written for earlier versions of them. */
const MIGRATIONS: readonly Row[] = [
  {
    pattern: /^AttributeError: (?:module 'numpy' has no attribute '|`np\.)(?<name>\w+)/,
    explain: ({ name }) => `The installed NumPy has no np.${name}.`,
    remedy:
      'Since NumPy 1.24, np.float, np.int, np.bool and np.object are the builtins float, int, bool and object; since 2.0, np.float_ is np.float64 and np.Inf is np.inf. Change the program, or require numpy<1.24 (numpy<2).',
    example: "AttributeError: module 'numpy' has no attribute 'float'.",
  },
  {
    label: 'import_error',
    pattern:
      /numpy\.dtype size changed|numpy\.core\.multiarray failed to import|_ARRAY_API not found|module compiled against (?:API|ABI) version/,
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
    pattern: /^\w+: .{0,80}\b(?:is not supported in Keras 3|Keras 3 only supports)/,
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
    pattern: /^TypeError: Descriptors (?:cannot|should) (?:not )?be created directly/,
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
    pattern: /Weights only load failed(?!.{0,900}Unsupported operand)|Unsupported global: GLOBAL/,
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
    pattern:
      /^(?:SyntaxError: ?Missing parentheses in call to '(?:print|exec)|NameError: name '(?:xrange|unicode|raw_input|basestring|unichr)'|AttributeError: 'dict' object has no attribute '(?:iter\w{1,8}|has_key)')/,
    explain: () => 'The program is written for Python 2.',
    remedy:
      'Convert it to Python 3 (2to3 -w DIRECTORY, which Python has up to 3.12), or require a version for Python 3.',
    example: "SyntaxError: Missing parentheses in call to 'print'. Did you mean print(...)?",
  },
  {
    label: 'import_error',
    pattern:
      /No module named '?(?<name>urllib2|urlparse|cPickle|c?StringIO|ConfigParser|Queue|Tkinter|__builtin__|commands|httplib)\b/,
    explain: ({ name }) => `Python 3 has no module ${name}: what imports it is written for Python 2.`,
    remedy:
      'Convert it to Python 3 (2to3 -w DIRECTORY, which Python has up to 3.12), or require a version for Python 3.',
    example: "ModuleNotFoundError: No module named 'cPickle'",
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

/** They come before the rules that know only the kind of a failure. */
export const MIGRATION_RULES: readonly Rule[] = MIGRATIONS.map((row) => toRule({ scope: 'exception', ...row }));
