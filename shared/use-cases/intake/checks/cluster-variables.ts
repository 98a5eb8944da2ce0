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
 * VMs, would be too long for Linux. Empty if both can be set.
 */
export function findLongVariable(spec: JobSpec, config: VmConfig): readonly Problem[] {
  const { cluster, clusterSpec } = config.spec;
  const tfConfig = { TF_CONFIG: { cluster, job: toTrainingInputDictionary(spec) } };
  const variables = {
    ...((clusterSpec === null || config.replicaCount > 1) && tfConfig),
    ...(clusterSpec !== null && {
      CLUSTER_SPEC: { cluster: clusterSpec.cluster, job: toCustomJobSpecDictionary(spec) },
    }),
  };
  return Object.entries(variables).flatMap(([name, value]) => {
    const bytes = OWN_BYTES_MAX + pythonBytesOf(value);
    const message = `The environment variable ${name}, which tells the program its job with all arguments and the addresses of its VMs, can have ${bytes} bytes; Linux accepts ${VARIABLE_BYTES_MAX} bytes (128 KiB) in one variable.`;
    const remedy =
      'Put long arguments into a file in a bucket or in the package, and pass its name; or request fewer replicas.';
    return bytes > VARIABLE_BYTES_MAX ? [{ code: 'CONFIGURATION_TOO_LONG', message, remedy }] : [];
  });
}

/** The size of a value as Python's `json.dumps` writes it: ASCII, with a space after each separator. */
function pythonBytesOf(value: unknown): number {
  const text = JSON.stringify(value);
  const separators = text.replaceAll(/"[^"\\]*(?:\\.[^"\\]*)*"/g, '').replaceAll(/[^,:]/g, '');
  return text.replaceAll(/[\u0080-\uFFFF]/g, '\\u0000').length + separators.length;
}
