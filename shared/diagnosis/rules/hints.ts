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
    label: 'shape_or_dtype_error',
    patterns: [
      // TensorFlow reports an exception of a Python function that it calls in the same way.
      /^(?:[\w.]{1,120}\.)?InvalidArgumentError\b(?!: (?:\S{1,40} )?(?:Type|Key|Attribute|Name|ZeroDivision)Error:)/,
      /^(?:[\w.]{1,120}\.)?(?:RuntimeError|ValueError|TypeError|IndexError|AssertionError|InvalidParameterError): .{0,300}\b(?:[Ss]hapes?|dims?|[Dd]imensions?|ndim|Size\(\[|channels?|d-?types?|scalar type|Tensor|(?:float|int|uint|bfloat)(?:8|16|32|64)|axis|axes|[Bb]roadcast\w*)\b/,
    ],
    scope: 'exception',
    example: 'RuntimeError: the derivative is not defined for a tensor with this dtype',
  },
  {
    label: 'checkpoint_corrupt',
    patterns: [
      /\b(?:saver\.restore|load_state_dict|load_checkpoint|restore_checkpoint|load_weights|resume_from_checkpoint)\(/,
      /\btraining\/saver\.py.{0,60}in restore\b/,
    ],
    unless: /^\s*(?:#|print|INFO)/,
    example: '    saver.restore(sess, ckpt)',
  },
  {
    label: 'disk_full',
    patterns: [/\[Errno 5\]|\bInput\/output error\b/],
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
