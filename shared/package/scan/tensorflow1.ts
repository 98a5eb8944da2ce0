/** Uses in one file of what only TensorFlow 1 has. */
export type Tensorflow1Use = {
  /** The first lines, from 1, at most SHOWN_COUNT_MAX. */
  readonly lines: readonly number[];
  readonly lineCount: number;
  /** The first names of these lines, such as `tf.Session`. */
  readonly names: readonly string[];
  /** Whether a name is in tf.contrib, which tf.compat.v1 does not have either. */
  readonly isContrib: boolean;
  /** Whether a statement that is always executed, if the file is the program, fails with TensorFlow 2. */
  readonly alwaysFails: boolean;
};

const SHOWN_COUNT_MAX = 3;

/** A fast check that excludes most sources. */
const MAYBE_TENSORFLOW = /\btensorflow\b/;
const IMPORTS_TF = /^[ \t]*import[ \t]+tensorflow[ \t]+as[ \t]+tf\b/m;
/** Files that choose between the versions, or add the names to `tf`. */
const HANDLES_BOTH =
  /\bcompat\.v1\b|\bcompat[ \t]+import[ \t]+v1\b|\bhasattr[ \t]*\([ \t]*tf\b|\btf\.(?:__version__|VERSION)\b|\btf\.\w+[ \t]*=[^=]/;

/** Starts of lines that are executed whenever their block is: no condition, no body of a lambda or function. */
const EXECUTED = /^(?!(?:if|elif|else|except|while|for|def|return)\b)(?!.*\blambda\b)[A-Za-z_@]/;
/** The block of a file that is the program, without the contents of strings. */
const MAIN_BLOCK = /^if[ \t]*\(?[ \t]*__name__[ \t]*==[ \t]*["']{2}[ \t]*\)?[ \t]*:/;

const CONTRIB_IMPORT =
  /^[ \t]*(?:(?:import|from)[ \t]+tensorflow\.contrib\b|from[ \t]+tensorflow[ \t]+import[ \t]+contrib\b)/;
const CONTRIB_NAME = /\btf\.contrib\b/;

/** Removed from `tf` in TensorFlow 2 (tensorflow.org, "Migrate from TensorFlow 1.x to 2"); still in tf.compat.v1. */
const REMOVED_NAME = new RegExp(
  `\\btf\\.(?:${[
    'Session|InteractiveSession|ConfigProto|GPUOptions|placeholder(?:_with_default)?|get_default_session',
    'global_variables(?:_initializer)?|local_variables_initializer|trainable_variables|initialize_all_variables',
    'get_variable|variable_scope|get_collection|add_to_collection|get_default_graph|reset_default_graph',
    'layers|app|flags|gfile|logging|python_io|set_random_seed|random_uniform|random_normal|truncated_normal',
    'to_float|to_int32|to_int64|log|assign|assign_add|read_file|FixedLenFeature|VarLenFeature|parse_single_example',
    'train\\.(?:[A-Z][A-Za-z]+Optimizer|Saver|Supervisor|MonitoredTrainingSession|get_global_step|get_or_create_global_step)',
    'summary\\.(?:FileWriter|merge_all|merge)|nn\\.softmax_cross_entropy_with_logits_v2',
  ].join('|')})\\b`,
);

/** Finds uses of TensorFlow 1 in a source without strings and comments; null if there are none. */
export function findTensorflow1(code: string): Tensorflow1Use | null {
  if (!MAYBE_TENSORFLOW.test(code)) {
    return null;
  }
  const importsTf = IMPORTS_TF.test(code);
  const checksNames = importsTf && !HANDLES_BOTH.test(code);
  const lines = code.split('\n');
  const blocks = listExecuted(lines);
  const found = lines.flatMap((text, index) => {
    const isContrib = CONTRIB_IMPORT.test(text) || (importsTf && CONTRIB_NAME.test(text));
    const name = isContrib ? 'tf.contrib' : checksNames ? REMOVED_NAME.exec(text)?.[0] : undefined;
    return name === undefined ? [] : [{ line: index + 1, name, isContrib, isExecuted: blocks.has(index) }];
  });
  return found.length === 0
    ? null
    : {
        lines: found.slice(0, SHOWN_COUNT_MAX).map(({ line }) => line),
        lineCount: found.length,
        names: [...new Set(found.map(({ name }) => name))].slice(0, SHOWN_COUNT_MAX),
        isContrib: found.some(({ isContrib }) => isContrib),
        alwaysFails: found.some(({ isExecuted }) => isExecuted),
      };
}

/** Indexes of the lines that are executed whenever the file is the program: at its top level, and in its main block. */
function listExecuted(lines: readonly string[]): ReadonlySet<number> {
  const executed = new Set<number>();
  let main: string | null = null;
  for (const [index, line] of lines.entries()) {
    const indent = /^[ \t]*/.exec(line)?.[0] ?? '';
    const text = line.slice(indent.length);
    if (indent === '' && text !== '') {
      main = MAIN_BLOCK.test(line) ? '' : null;
    } else if (main === '' && text !== '') {
      main = indent;
    }
    if (indent === (main ?? '') && EXECUTED.test(text)) {
      executed.add(index);
    }
  }
  return executed;
}
