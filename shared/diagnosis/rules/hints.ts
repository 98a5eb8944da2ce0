import type { Rule } from '#shared/diagnosis/rules/rule.ts';

/**
 * Rules for messages that no other rule knows: the class of the exception, words in it, or the frame in which it was
 * raised say what it is about. They come last, since other rules know better what such words mean.
 */
export const HINT_RULES: readonly Rule[] = [
  {
    label: 'gpu_oom',
    patterns: [/list of allocated tensors when OOM happens/, /\bResourceExhaustedError\b/],
    example:
      'Hint: If you want to see a list of allocated tensors when OOM happens, add report_tensor_allocations_upon_oom',
  },
  {
    label: 'checkpoint_corrupt',
    patterns: [
      /^(?:[\w.]{1,120}\.)?\w{0,60}(?:Error|Exception): .{0,300}\b(?:[Cc]heckpoint\w*|ckpt|state[_ ]dict|pre-?trained (?:weights|model)|objects could not be loaded|during loading|[Dd]ict key mismatch)\b/,
    ],
    scope: 'exception',
    unless: /\b[Cc]heckpoint(?:ing|_wrapper|_sequential)\b/,
    example: "ValueError: Dict key mismatch; expected keys: ['opt_state', 'params', 'step']; dict: {}",
  },
  {
    label: 'not_found_data',
    patterns: [
      /^(?:[\w.]{1,120}\.)?\w{0,60}(?:Error|Exception): .{0,300}\b(?:[Nn]ot (?:be )?found|(?:does|do)(?: not|n't) exist|(?:[Cc]annot|[Cc]an't|[Cc]ould not|[Cc]ouldn't|[Uu]nable to) (?:find|locate|open|read|access)|[Mm]issing|[Nn]o such)\b.{0,200}(?:\b[\w-]{0,40}(?:[Ff]iles?|[Ff]olders?|[Dd]irector(?:y|ies)|[Cc]onfig|[Rr]esources?|[Dd]ataset|[Dd]ata|[Ii]mages?|[Vv]ideos?|[Pp]aths?|[Ll]abels?|[Bb]ucket|[Cc]orpus|[Vv]ocab\w*)\b|\.(?:txt|csv|json|yaml|yml|npy|npz|pkl|h5|pt|pth|bin|jpe?g|png|mp4|wav|zip|tar|gz)\b)/,
      /^(?:[\w.]{1,120}\.)?\w{0,60}(?:Error|Exception): .{0,200}\b(?:[Ff]iles?|[Ff]older|[Dd]irectory|[Cc]onfig|[Rr]esource|[Dd]ataset|[Ii]mages?|[Vv]ideo|[Pp]ath|[Cc]orpus)\b.{0,200}\b(?:not (?:be )?found|(?:does|do)(?: not|n't) exist|(?:is|are) missing)\b/,
    ],
    scope: 'exception',
    unless: /argument|parameter|attribute|column|\bkeys?\b/,
    example: "hydra.errors.MissingConfigException: Cannot find primary config 'config'.",
  },
  {
    label: 'wrong_arch_package',
    patterns: [
      /^(?:[\w.]{1,120}\.)?(?:NotImplemented|Runtime|Assertion|Value|Import)Error: .{0,200}\b(?:[Nn]o (?:operator|kernel) found|was built for|built (?:for|with)|compiled (?:for|with|against))\b/,
    ],
    scope: 'exception',
    example: 'NotImplementedError: No operator found for `memory_efficient_attention_forward` with inputs:',
  },
  {
    label: 'distributed_strategy_misuse',
    patterns: [
      /^(?:[\w.]{1,120}\.)?\w{0,60}(?:Error|Exception): .{0,400}\b(?:[Dd]istributed|[Dd]istribution ?[Ss]trategy|DDP|ddp|FSDP|FullyShardedDataParallel|tf\.distribute|replicas?|world[_ ]?size|local[_ ]?rank|[Mm]ulti-?(?:GPU|gpu|process\w*)|num_processes|process[_ ]group|Sync\w*BatchNorm|[Dd]ata_?[Pp]arallel|(?:tensor|pipeline|model)[_ ]parallel\w*|torchrun|deepspeed|ZeRO|bootstrapping phase|flatten tensors)\b/,
    ],
    scope: 'exception',
    unless: /ly distributed\b|in a distributed way/,
    example:
      "ValueError: You can't train a model that has been loaded with `device_map='auto'` in any distributed mode.",
  },
  {
    label: 'no_gpu_visible',
    patterns: [
      /^(?:[\w.]{1,120}\.)?\w{0,60}(?:Error|Exception|NotFound): .{0,300}\b(?:(?:[Ii]nvalid|[Nn]o|only|requires?|needs?|valid|available) (?:\w+ ){0,3}(?:CUDA|GPUs?|gpus?|cuda)\b|(?:CUDA|GPUs?) (?:\w+ )?(?:is |are )?(?:not|required|needed)|NVML)/,
      /^\S{0,120}\bNVMLError|\bdevices_provider\.h\b/,
    ],
    scope: 'exception',
    example: "AssertionError: Invalid CUDA '--device 0,1' requested, use '--device cpu' or pass valid CUDA device(s)",
  },
  {
    label: 'shape_or_dtype_error',
    patterns: [
      // TensorFlow reports an exception of a Python function that it calls in the same way.
      /^(?:[\w.]{1,120}\.)?InvalidArgumentError\b(?!: (?:\S{1,40} )?(?:Type|Key|Attribute|Name|ZeroDivision)Error:)/,
      /^(?:[\w.]{1,120}\.)?(?:RuntimeError|ValueError|TypeError|IndexError|AssertionError|InvalidParameterError): .{0,300}\b(?:[Ss]hapes?|dims?|[Dd]imensions?|ndim|Size\(\[|channels?|d-?types?|scalar type|Tensor|(?<!\bnp\.)(?:float|int|uint|bfloat)(?:8|16|32|64)|axis|axes|[Bb]roadcast\w*|scalars?|reshape|sizes?|ranks?|matri(?:x|ces)|[123]-?[dD]|same length)\b/,
    ],
    scope: 'exception',
    unless: /within the support|satisfy the constraint|requires grad/,
    example: 'RuntimeError: the derivative is not defined for a tensor with this dtype',
  },
  {
    label: 'checkpoint_corrupt',
    patterns: [
      /\b(?:saver\.restore|load_state_dict|load_checkpoint|restore_checkpoint|load_weights|resume_from_checkpoint)\(/,
    ],
    unless: /^\s*(?:#|print|INFO)/,
    example: '    saver.restore(sess, ckpt)',
  },
  {
    label: 'disk_full',
    patterns: [/\[Errno 5\]|\bInput\/output error\b/],
    canRetryHelp: true,
    code: 'PROGRAM_FAILED',
    explain: () => 'The file system could not read or write a file.',
    remedy:
      'Submit again, for a VM with another disk. If the file is in a mounted bucket (/gcs), copy it to the working directory first, and write below the output directory.',
    example: 'OSError: [Errno 5] Input/output error',
  },
  {
    label: 'distributed_strategy_misuse',
    patterns: [/\/torch\/distributed\/(?:rendezvous|distributed_c10d)\.py/, /\/python\/distribute\/\w+\.py/],
    example: '  File "/v/torch/distributed/rendezvous.py", line 99, in rendezvous',
  },
  {
    label: 'network_error',
    patterns: [
      /^(?:[\w.]{1,120}\.)?\w{0,60}(?:Connection|Timeout|Network|Http|HTTP|Socket|Transport)\w{0,40}(?:Error|Exception)\b/,
    ],
    scope: 'exception',
    example: 'aiohttp.client_exceptions.ClientPayloadHTTPError: Response payload is not completed',
  },
  {
    label: 'build_failure',
    patterns: [/\bmake(?:\[\d+\])?: \*\*\* /i],
    scope: 'alone',
    example: 'make: *** [Makefile:20: all] Error 2',
  },
  {
    // The lines of programs that report an error without an exception.
    label: 'user_exception',
    patterns: [
      /\[(?:Fatal|FATAL|fatal|CRITICAL)\] \S|\bfatal error occurred\b/,
      /(?:^|\s)[✘✖✗❌]\s+\S/,
      /\w\(\) (?:got an unexpected keyword argument|missing \d+ required positional argument)/,
    ],
    scope: 'alone',
    example: '[LightGBM] [Fatal] Check failed: num_machines > 1 at serial_tree_learner.cpp, line 876',
  },
  {
    label: 'network_error',
    patterns: [
      /^(?:[\w.]{1,120}\.)?\w{0,60}(?:Error|Exception): .{0,300}\b(?:connect(?:ion|ing)? (?:to|with|was|is|lost|timed)|sockets?|timed? ?-?out|unreachable|hostname)\b/i,
    ],
    scope: 'exception',
    example: 'RuntimeError: lost the connection to the parameter server',
  },
  {
    // The lines of libraries in C++, which print what they checked.
    label: 'user_exception',
    patterns: [/\bCheck failed: |\bAssertion .{1,200} failed\b|\bNon-OK-status: /, /\bF (?:tensorflow|external)\//],
    scope: 'alone',
    example: '06:43:14.636825: E xla/xla_client/tf_logging.cc:11] Check failed: xtensor',
  },
  {
    label: 'no_gpu_visible',
    patterns: [/\btorch\._C\._cuda_init\(\)/],
    example: '    torch._C._cuda_init()',
  },
  {
    label: 'import_error',
    patterns: [/<frozen importlib\._bootstrap(?:_external)?>", line \d+, in _call_with_frames_removed/],
    code: 'IMPORT_FAILED',
    example: '  File "<frozen importlib._bootstrap>", line 228, in _call_with_frames_removed',
  },
];

/** In a traceback without its exception, the frames say what was tried. */
export const FRAME_RULES: readonly Rule[] = [
  {
    label: 'no_gpu_visible',
    patterns: [/torch[/\\]cuda[/\\]__init__\.py(?:", line \d+,|:\d+,)? in (?:_lazy_init|set_device|_check_driver)/],
    scope: 'alone',
    example: '  File "/v/torch/cuda/__init__.py", line 172, in _lazy_init',
  },
  {
    label: 'shape_or_dtype_error',
    patterns: [
      /torch[/\\]nn[/\\](?:functional|modules[/\\](?:conv|linear|loss|batchnorm|sparse|rnn|normalization))\.py(?:", line \d+,|:\d+,)? in/,
      /\bin _?(?:standardize\w*|assert_input_compatibility|check_array_length\w*)\b|exception_prefix='/,
    ],
    scope: 'alone',
    example: '  File "/v/torch/nn/modules/conv.py", line 439, in _conv_forward',
  },
  {
    label: 'disk_full',
    patterns: [/torch[/\\]serialization\.py(?:", line \d+,|:\d+,)? in (?:save|_save|_legacy_save)\b/],
    scope: 'alone',
    example: '  File "/v/torch/serialization.py", line 499, in _save',
  },
  {
    label: 'checkpoint_corrupt',
    patterns: [
      /\bRestoreV2\b|\btraining[/\\]saver\.py\b/,
      /torch[/\\]serialization\.py(?:", line \d+,|:\d+,)? in \w*load\w*/,
    ],
    scope: 'alone',
    example: '  File "/v/torch/serialization.py", line 1002, in _legacy_load',
  },
  {
    label: 'permission_denied',
    patterns: [/\/google\/auth\/\w+\.py(?:", line \d+,|:\d+,)? in/],
    scope: 'alone',
    example: '  File "/v/google/auth/_default.py", line 354, in default',
  },
  {
    label: 'network_error',
    patterns: [
      /\/(?:requests\/(?:adapters|sessions|api)|urllib3\/\w+|urllib\/request|http\/client|grpc\/_channel|socket)\.py(?:", line \d+,|:\d+,)? in/,
    ],
    scope: 'alone',
    example: '  File "/v/requests/adapters.py", line 519, in send',
  },
  {
    label: 'not_found_data',
    patterns: [/\blabel_map_util\.py\b/, /\bpandas\/(?:_libs\/parsers\.pyx|io\/(?:common|parsers)\b)/],
    scope: 'alone',
    example: '  File "pandas/_libs/parsers.pyx", line 705, in pandas._libs.parsers.TextReader._setup_parser_source',
  },
];
