import type { Rule } from '#shared/diagnosis/rules/rule.ts';

export const SHAPE_RULES: readonly Rule[] = [
  {
    label: 'shape_or_dtype_error',
    patterns: [
      /mat1 and mat2|CUBLAS_STATUS_INVALID_VALUE/,
      /Expected \d-dimensional/,
      /Target size \(/,
      /[Nn]umber of (?:features|channels|columns|classes)/,
      /input_shape|input shape/,
      /[Ee]xpected .{0,80}(?:channels|dimensions?|columns|features)\b.{0,60}(?:got|but|found|received)/,
      /Cast string to float is not supported/,
      /Cannot (?:convert|cast|interpret) .{0,80}(?:dtype|Tensor|Dtype|to EagerTensor|numpy)/,
      /but expected one of/,
      /invalid index of a 0-dim/,
      /view size is not compatible/,
      /split_with_sizes expects/,
      /Sizes of tensors|batch size .{0,60}(?:match|mismatch)/,
      /size mismatch\b/,
      /[Ss]hapes .{0,120}(?:incompatible|not aligned|must (?:be|match)|mismatch|do not match|are not|not broadcastable)/,
      /incompatible with (?:the )?(?:layer|shape|expected)/,
      /expected (?:axis|shape|input)/,
      /could not be broadcast/,
      /[Bb]roadcastable/,
      /[Cc]annot (?:re)?shape/,
      /Dimension .{0,40}must/,
      /[Dd]imensions? must (?:be|match)/,
      /Matrix size-incompatible/,
      /size of tensor a/,
      /stack expects each tensor/,
      /(?:Expected|expected) (?:scalar type|object of (?:scalar type|backend|type|device)|tensor for|dtype|input\[|\d+-?D|more than 1 value|target size|input batch_size|hidden)/,
      /[Ii]nput type .{0,80}(?:weight|bias) type/,
      /have the same dtype/,
      /does not match type/,
      /inconsistent numbers? of samples/,
      /[Ss]hape mismatch/,
      /ShapeError\b|[Ii]nconsistent (?:shape|dtype|dimension)/,
      /[Ss]hapes? .{0,60}not consistent/,
      /Input to reshape is a tensor/,
      /feature_names mismatch/,
      /X has \d+ features/,
      /device-side assert|Assertion .{0,80}index out of bounds\W{0,3}failed/,
      /Assertion `?(?:t >= 0|srcIndex|cur_target|index >= -?|idx_dim|input_val|\S+ < \S+)/,
      /label value .{0,60}outside the valid range/,
      /Target \d+ is out of bounds/,
      /index out of range in self/,
      /(?:got|found) (?:array )?(?:with )?(?:shape|dim)/,
      /setting an array element with a sequence/,
      /Failed to convert a NumPy array to a Tensor/,
      /Tensor conversion requested dtype/,
      /can't convert (?:cuda|np\.ndarray)/,
      /not implemented for '/,
      /result type .{0,40}can't be cast/,
      /shape .{0,80}is invalid for input/,
      /(?:Negative dimension size|Computed output size would be negative|Calculated (?:padded )?input size)/,
      /Rank mismatch/,
      /must have (?:the same )?(?:rank|shape|number of)/,
      /same (?:first|number of) dimension/,
      /All arrays must be of the same length/,
      /Length of values/,
      /ConcatOp/,
      /dot_general requires/,
      /[Ii]ncompatible (?:shapes|types|dimensions|sizes)/,
      /expected (?:sequence of length|np\.ndarray|Tensor)/,
      /only one element tensors/,
      /Cannot take the length of shape with unknown rank/,
      /as_list\(\) is not defined/,
      /[Dd]ata cardinality is ambiguous/,
      /Check failed: .{0,60}(?:size|shape|num_col)\w*(?:\(\))? ?==|Check failed: .{0,20}\bindex\S* </,
      /[Ii]nvalid argument: .{0,40}(?:shape|dimension|size)/,
      /Value passed to parameter .{0,60}has DataType/,
      /a Tensor with \d+ elements cannot be converted/,
      /0D or 1D target/,
      /expected to be in range/,
      /doesn't match the broadcast shape/,
    ],
    unless: /(?:User|Future|Deprecation)Warning|sequence length is longer|numpy\.dtype size changed/,
    example: 'RuntimeError: mat1 and mat2 shapes cannot be multiplied (863x1 and 11x5120)',
  },
];

export const CRASH_RULES: readonly Rule[] = [
  {
    label: 'segfault',
    patterns: [
      /[Ss]egmentation (?:fault|violation)/i,
      /\bSIGSEGV\b/i,
      /died with <Signals\.SIGBUS|killed by signal: Aborted/,
      /Segfault encountered/,
      /return code ?= ?-(?:11|6|7|8)\b/,
      /exit(?:ed)?(?: with)?(?: (?:code|status))?:? (?:139|-11)\b/i,
      /exitcode: -(?:11|6|7)\b/i,
      /segfault at/i,
      /double free or corruption/i,
      /corrupted (?:double-linked list|size vs)/i,
      /(?:free|malloc|munmap_chunk|realloc)\(\): (?:invalid|corrupted|double|unaligned|memory corruption)/i,
      /Bus error/i,
      /stack smashing detected/i,
      /Fatal Python error: (?:Segmentation|Aborted|Bus|Illegal|deallocated)/i,
      /SIGABRT/i,
    ],
    unless: /potential root causes/,
    example: 'Fatal Python error: Segmentation fault',
  },
  {
    label: 'segfault',
    patterns: [
      /(?:illegal memory access|CUDA_ERROR_ILLEGAL_ADDRESS|misaligned address|unspecified launch failure|Failed to launch CUDA kernel)/i,
    ],
    explain: () => 'A kernel on the GPU used memory that it must not use.',
    remedy:
      'Set CUDA_LAUNCH_BLOCKING=1 under env: then the last frame of the program is the operation. Check its indices, labels and shapes; custom kernels, with compute-sanitizer.',
    example: 'RuntimeError: CUDA error: an illegal memory access was encountered',
  },
];

/** Without an abort, the exception of C++ says what happened, and no rule knows its message. */
export const ABORT_RULES: readonly Rule[] = [
  {
    label: 'segfault',
    patterns: [/^(?:\S+: line \d+:\s+\d+ )?Aborted(?: \(core dumped\))?/, /\(core dumped\)/],
    scope: 'line',
    example: 'Aborted (core dumped)',
  },
  {
    label: 'user_exception',
    patterns: [/terminate called after throwing.{0,200} what\(\):\s+\S/],
    example:
      "terminate called after throwing an instance of 'std::runtime_error' what(): Check failed: num_machines > 1",
  },
  {
    label: 'segfault',
    patterns: [/terminate called (?:after|without)/],
    example: "terminate called after throwing an instance of 'std::runtime_error'",
  },
];

/** A program that is called the wrong way prints no exception. */
export const PROGRAM_RULES: readonly Rule[] = [
  {
    label: 'user_exception',
    patterns: [
      /\berror: (?:the following arguments are required|unrecognized arguments|argument |invalid choice|one of the arguments|ambiguous option|too few arguments)/i,
    ],
    remedy: 'Correct args of the job file: the program does not accept them as they are.',
    example: 'train.py: error: the following arguments are required: --data',
  },
  {
    // The lines of libraries in C++, which check what they were called with and print no exception.
    label: 'user_exception',
    patterns: [/\* Check failure stack trace: \*/, /\bF\d{4} \d\d:\d\d:\d\d\.\d{1,9} +\d{1,9} [\w./-]{1,200}:\d+\] /],
    example: 'F1119 18:06:58.546988 14145 solver.cpp:79] Check failed: param_.has_type()',
  },
  {
    // The error of a command, or of a request that the API does not accept.
    label: 'user_exception',
    patterns: [/\bERROR: \(gcloud\.[\w.-]{1,120}\)/, /Invalid value for field '/, /\bgoogleapi: Error 400\b/],
    unless: /already (?:exists|own)/i,
    remedy: 'Correct the command: the message says what Google Cloud does not accept.',
    example: 'ERROR: (gcloud.container.node-pools.create) ResponseError: code=400, message=Invalid machine type.',
  },
  {
    label: 'user_exception',
    patterns: [/\[Errno 24\]/, /Too many open files/, /received \d+ items of ancdata/],
    remedy:
      "Too many files were open at once. Close files, use fewer loader workers, or call torch.multiprocessing.set_sharing_strategy('file_system').",
    example: 'OSError: [Errno 24] Too many open files',
  },
  {
    label: 'user_exception',
    patterns: [
      /^AttributeError: (?:partially initialized )?module '(?<what>[\w.]{1,100})' has no attribute '(?<name>\w{1,100})'/,
    ],
    scope: 'exception',
    canRetryHelp: false,
    explain: ({ what, name }) => `The module ${what} has no ${name}.`,
    remedy:
      'If it is of a library, require the version that the program was written for. If a file of the program has the name of the library, rename the file. If two modules import each other, import one inside of a function.',
    example: "AttributeError: module 'xgboost.compat' has no attribute 'XGBoostLabelEncoder'",
  },
];
