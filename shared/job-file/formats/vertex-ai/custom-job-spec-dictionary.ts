import { toAcceleratorEnum } from '#shared/catalog/catalog.ts';
import type { JobSpec, Program, ReplicaGroup } from '#shared/domain/job-spec.ts';
import { ROLES } from '#shared/domain/replica-name.ts';
import { printDuration } from '#shared/job-file/draft/duration.ts';

/**
 * The job as Vertex AI's CustomJobSpec with snake_case keys and all defaults filled in, for the key `job` of
 * CLUSTER_SPEC (Vertex AI docs, "Distributed training"). Environment variables are omitted: they may be confidential.
 */
export function toCustomJobSpecDictionary(spec: JobSpec): Record<string, unknown> {
  return {
    worker_pool_specs: ROLES.flatMap((role) => spec.replicaGroups.filter((group) => group.role === role)).map((group) =>
      describePool(group, group.program ?? spec.program),
    ),
    scheduling: { timeout: printDuration(spec.limits.maxRunningMs) },
    base_output_directory: { output_uri_prefix: spec.jobDir },
  };
}

function describePool(group: ReplicaGroup, program: Program): Record<string, unknown> {
  const { count, machineType, accelerator, bootDiskGib, bootDiskType } = group;
  return {
    machine_spec: {
      machine_type: machineType,
      ...(accelerator !== null && {
        accelerator_type: toAcceleratorEnum(accelerator.type),
        accelerator_count: accelerator.count,
      }),
    },
    replica_count: String(count),
    disk_spec: { boot_disk_type: bootDiskType, boot_disk_size_gb: bootDiskGib },
    ...(program.kind === 'PYTHON'
      ? {
          python_package_spec: {
            package_uris: program.packageUris,
            python_module: program.module ?? '',
            args: program.args,
          },
        }
      : { container_spec: { image_uri: program.imageUri, command: program.command, args: program.args } }),
  };
}
