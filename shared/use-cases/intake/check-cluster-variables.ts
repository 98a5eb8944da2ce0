import type { JobSpec } from '#shared/domain/job-spec.ts';
import { toTrainingInputDictionary } from '#shared/job-file/formats/ai-platform/training-input-dictionary.ts';
import { toCustomJobSpecDictionary } from '#shared/job-file/formats/vertex-ai/custom-job-spec-dictionary.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import type { VmConfig } from '#shared/protocol/vm-config.ts';

/** Linux's limit on one string in the environment of a program: 32 pages (execve(2), "Limits on size"). */
const VARIABLE_BYTES_MAX = 128 << 10;

/** More than the name of the variable, and the replica's own part of it. */
const OWN_BYTES_MAX = 512;

/**
 * Why the program could not be started: `TF_CONFIG` or `CLUSTER_SPEC`, which describe the job and the addresses of its
 * VMs, would be too long for Linux. Null if both can be set.
 */
export function checkClusterVariables(spec: JobSpec, config: VmConfig): Problem | null {
  const { cluster, clusterSpec } = config.spec;
  const tfConfig = { TF_CONFIG: { cluster, job: toTrainingInputDictionary(spec) } };
  const variables = {
    ...((clusterSpec === null || config.replicaCount > 1) && tfConfig),
    ...(clusterSpec !== null && {
      CLUSTER_SPEC: { cluster: clusterSpec.cluster, job: toCustomJobSpecDictionary(spec) },
    }),
  };
  const sizes = Object.entries(variables).map(([name, value]) => ({
    name,
    bytes: OWN_BYTES_MAX + pythonBytesOf(value),
  }));
  const tooLong = sizes.find(({ bytes }) => bytes > VARIABLE_BYTES_MAX);
  return tooLong === undefined
    ? null
    : {
        code: 'CONFIGURATION_TOO_LONG',
        message: `The environment variable ${tooLong.name}, which tells the program its job with all arguments and the addresses of its VMs, can have ${tooLong.bytes} bytes; Linux accepts ${VARIABLE_BYTES_MAX} bytes (128 KiB) in one variable.`,
        remedy:
          'Put long arguments into a file in a bucket or in the package, and pass its name; or request fewer replicas.',
      };
}

/** The size of a value as Python's `json.dumps` writes it: ASCII, with a space after each separator. */
function pythonBytesOf(value: unknown): number {
  const text = JSON.stringify(value);
  const separators = text.replaceAll(/"[^"\\]*(?:\\.[^"\\]*)*"/g, '').replaceAll(/[^,:]/g, '');
  return text.replaceAll(/[\u0080-\uFFFF]/g, '\\u0000').length + separators.length;
}
