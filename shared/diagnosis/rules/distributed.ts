import type { Rule } from '#shared/diagnosis/rules/rule.ts';

export const DISTRIBUTED_RULES: readonly Rule[] = [
  {
    label: 'distributed_strategy_misuse',
    patterns: [
      /train_batch_size is not equal to/i,
      /unrecognized arguments: --local/i,
      /WORLD_SIZE.{0,60}(?:mismatch|not set|does not)/i,
      /cuda:\d+ and cuda:\d+/i,
      /Tensors? must be CUDA and dense/i,
      /not enough slots available in the system/i,
      /process group (?:is not|has not been|not) initialized/i,
      /environment variable (?:RANK|WORLD_SIZE|MASTER_ADDR|MASTER_PORT|LOCAL_RANK) expected/i,
      /trying to initialize the default process group twice/i,
      /KeyError: '(?:RANK|WORLD_SIZE|LOCAL_RANK|MASTER_ADDR|MASTER_PORT)'/i,
      /module must have its parameters and buffers on device/i,
      /Distributed package doesn't/i,
      /Duplicate GPU detected/i,
      /(?:world|cluster) size .{0,60}(?:mismatch|does not match|not divisible)/i,
      /DistributedDataParallel.{0,80}(?:not|cannot|doesn't)/i,
      /module 'torch\.distributed' has no attribute/i,
      /Lightning can't create new processes/i,
      /\b(?:same|differs?|inconsistent|mismatch\w*)\b.{0,60}across (?:all )?(?:ranks|processes|workers)\b/i,
      /Sync\w*BatchNorm (?:expected|only|module)/,
      /(?:batch size|num_workers|heads?) .{0,60}divisible by .{0,40}(?:GPUs?|world|replicas|devices|tensor)/i,
    ],
    unless: /was specified in DDP constructor|falling back|loaded checkpoint/,
    example: "KeyError: 'RANK'",
  },
  {
    label: 'distributed_strategy_misuse',
    patterns: [
      /colocate_vars_with/,
      /DistributedValues/,
      /strategy\.(?:run|scope|reduce|experimental_run)/,
      /tf\.distribute\.Strategy\.?(?:scope|update)?.{0,160}(?:scope|different|created|within)/,
      /outside (?:of )?the replica context/,
      /in (?:a |the )?(?:Replica|replica|cross-replica|tower) [Cc]ontext/,
      /mirrored across replicas/,
      /created (?:under|in|within) (?:a |the )?(?:different|same)? ?(?:distribution )?strategy/,
      /distribute\/python\/(?:values|mirrored_strategy)\.py/,
      /Attempt to convert a value \(PerReplica/,
      /Collective ops? must be configured at program startup/,
      /Strategy(?:\(\))? (?:\S+ ){0,3}(?:returns|raises|crash\w*|fails)\b|supported with DistributionStrategy/,
      /To call `multi_gpu_model`/,
      /Horovod has not been initialized/,
    ],
    unless: /DEPRECATED|deprecated|Using MirroredStrategy|non-GPU devices in/,
    example:
      'ValueError: `handle` is not available outside the replica context or a `tf.distribute.Strategy.update()` call.',
  },
];

/** Follows from most failures of another rank, so it comes after them. */
export const NCCL_RULES: readonly Rule[] = [
  {
    label: 'nccl_failure',
    patterns: [
      /NCCL (?:error|Error|WARN|failure|communicator)/,
      /\bnccl(?:\w*Error|InvalidUsage|AllReduce|CommInit\w*|Group\w*|Timeout|InProgress|RemoteError)\b/,
      /DistBackendError/,
      /Horovod has been shut down/,
      /\bncclComm\w*/,
      /[Cc]ollective .{0,60}(?:failed|mismatch|timed out|timeout)/,
      /Timeout at NCCL/,
      /watchdog (?:thread )?got stuck/,
      /ProcessGroupNCCL.{0,200}(?:timed out|terminat|exception|abort|failed|error|entire process down)/,
      /NCCL.{0,80}(?:timeout|timed out|aborted|failed)/,
      /unhandled (?:system|cuda) error/,
      /HorovodInternalError/,
    ],
    example: 'RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:1191, unhandled system error, NCCL version 2.10.3',
  },
];

/** An init_process_group that fails in its rendezvous: the frames are all that some logs keep. */
export const RENDEZVOUS_RULES: readonly Rule[] = [
  {
    label: 'distributed_strategy_misuse',
    patterns: [/next\(rendezvous_iterator\)/, /torch\.distributed\.init_process_group\(/],
    example: '    store, rank, world_size = next(rendezvous_iterator)',
  },
];
