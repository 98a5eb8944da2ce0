import { CHECKPOINT_RULES, DISK_RULES, MISSING_DATA_RULES, NAN_RULES } from '#shared/diagnosis/rules/data.ts';
import { DISTRIBUTED_RULES, NCCL_RULES, RENDEZVOUS_RULES } from '#shared/diagnosis/rules/distributed.ts';
import { GOOGLE_CLOUD_RULES, INTERRUPTION_RULES } from '#shared/diagnosis/rules/google-cloud.ts';
import { GPU_HARDWARE_RULES, GPU_SOFTWARE_RULES, GPU_VISIBILITY_RULES } from '#shared/diagnosis/rules/gpu.ts';
import { FRAME_RULES, HINT_RULES } from '#shared/diagnosis/rules/hints.ts';
import { BUILD_RULES, IMPORT_RULES, PIP_RULES } from '#shared/diagnosis/rules/install.ts';
import { KNOWN_CAUSE_RULES } from '#shared/diagnosis/rules/known-causes.ts';
import {
  GPU_MEMORY_RULES,
  HOST_MEMORY_RULES,
  NAMED_GPU_MEMORY_RULES,
  OTHER_MEMORY_RULES,
} from '#shared/diagnosis/rules/memory.ts';
import { MIGRATION_RULES } from '#shared/diagnosis/rules/migrations.ts';
import { NETWORK_RULES } from '#shared/diagnosis/rules/network.ts';
import { ABORT_RULES, CRASH_RULES, PROGRAM_RULES, SHAPE_RULES } from '#shared/diagnosis/rules/program.ts';
import type { Rule } from '#shared/diagnosis/rules/rule.ts';

/**
 * All rules, in the order of precedence: a root before what follows from it, a specific message before a general one.
 * A fault of the machine explains every error after it; a message that names the memory of the GPU is more specific
 * than one that is printed for both; a full disk or memory explains a checkpoint that is incomplete; a permission
 * explains a checkpoint that cannot be found; a failed rank explains the NCCL timeout of the others; and a connection
 * that broke explains least.
 */
export const RULES: readonly Rule[] = [
  ...GPU_HARDWARE_RULES,
  ...NAMED_GPU_MEMORY_RULES,
  ...HOST_MEMORY_RULES,
  ...GPU_MEMORY_RULES,
  ...INTERRUPTION_RULES,
  ...DISK_RULES,
  ...MIGRATION_RULES,
  ...KNOWN_CAUSE_RULES,
  ...GOOGLE_CLOUD_RULES,
  ...BUILD_RULES,
  ...GPU_SOFTWARE_RULES,
  ...IMPORT_RULES,
  ...DISTRIBUTED_RULES,
  ...CHECKPOINT_RULES,
  ...GPU_VISIBILITY_RULES,
  ...NAN_RULES,
  ...SHAPE_RULES,
  ...NCCL_RULES,
  ...NETWORK_RULES,
  ...PIP_RULES,
  ...OTHER_MEMORY_RULES,
  ...CRASH_RULES,
  ...MISSING_DATA_RULES,
  ...RENDEZVOUS_RULES,
  ...ABORT_RULES,
  ...PROGRAM_RULES,
  ...HINT_RULES,
  ...FRAME_RULES,
];
