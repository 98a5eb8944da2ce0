import { jsonBytesOf } from '#shared/domain/job-size.ts';
import type { Parameter, ParameterSpace } from '#shared/domain/study.ts';
import { METADATA_BYTES_MAX, METADATA_VALUE_BYTES_MAX } from '#shared/ports/vm-provider.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import type { VmConfig } from '#shared/protocol/vm-config.ts';
import { trialJobIdOf } from '#shared/tuning/trial.ts';
import { formatValue, trialRefOf, trialSpecOf } from '#shared/tuning/trial-job.ts';
import type { Check, CheckedJob } from '#shared/use-cases/intake/checks/check.ts';
import { findLongVariable } from '#shared/use-cases/intake/checks/cluster-variables.ts';
import { packageRefsOf } from '#shared/use-cases/intake/checks/packages.ts';
import { cachedEnvironmentsIn } from '#shared/use-cases/provision/cached-environments.ts';
import { type ConfiguredJob, vmConfigOf } from '#shared/use-cases/provision/vm-config-of.ts';
import type { ConfigSettings } from '#shared/use-cases/provision/vm-settings.ts';

/** More attempts, and trials of one tuning with those that repeat others, than there can be. */
const ORDINAL_MAX = 99_999;

/** The longest values that a deployment, which intake does not know in full, adds to the configuration of a VM. */
const LONGEST_SETTINGS: ConfigSettings = longestSettings('x'.repeat(255), Number.MAX_SAFE_INTEGER);

function longestSettings(text: string, integer: number): ConfigSettings {
  const url = `https://${text}`;
  const cachedEnvironments = cachedEnvironmentsIn(text, integer);
  return {
    projectId: text.slice(0, 30),
    endpoints: { heartbeatUrl: url, heartbeatAudience: url, storageUrl: url, loggingUrl: url, secretManagerUrl: url },
    intervals: { heartbeatSeconds: integer, syncSeconds: integer, logSeconds: integer },
    limits: {
      stopGraceSeconds: integer,
      preemptionNoticeSeconds: integer,
      controlPlaneTimeoutSeconds: integer,
      logBytesMax: integer,
      diskBytesMax: integer,
    },
    hasRequestedGpus: true,
    imageCredentialsOf: () => ({ credentials: 'SECRET', credentialsSecret: url }),
    cachedEnvironments,
    cachedEnvironmentsOf: () => cachedEnvironments,
    clusterAddressOf: ({ vmName }) => `${vmName}:65535`,
    peerAddressOf: ({ vmName }) => `${vmName}:65535`,
  };
}

/** A later attempt than one that may still save its outputs. */
const SAVING = { ledger: [{ ranAt: 0, endedAt: 0 }], placedAt: 0, createdAt: 0 } as const;

type Part = { readonly what: string; readonly keys: readonly string[]; readonly remedy: string };

const LONG_VALUES_REMEDY = 'Put long values into a file in a bucket or in the package, and pass its name.';

/** The parts of a configuration that can be long, and the keys of their values. */
const PARTS: readonly Part[] = [
  {
    what: 'its arguments',
    keys: ['args', 'argv', 'command', 'container_args', 'container_command'],
    remedy: LONG_VALUES_REMEDY,
  },
  { what: 'its environment variables', keys: ['environment'], remedy: LONG_VALUES_REMEDY },
  { what: 'its packages', keys: ['uri', 'package_uris'], remedy: 'Use fewer packages, or shorter names.' },
  {
    what: 'the requirements of its programs',
    keys: ['requirements'],
    remedy: 'Put them into a requirements.txt beside the program, which VMs read from the package.',
  },
  { what: 'the addresses of its VMs', keys: ['cluster', 'peers'], remedy: 'Request fewer replicas.' },
];

/**
 * Whether every attempt and every trial can be configured. No VM could run if its configuration is too long for a
 * metadata value, or a variable that the agent makes of it is too long for Linux. The other metadata values have a few
 * KiB, so that all values together fit as well.
 */
export const checkVmConfig: Check = (checked) => {
  const packages = packageRefsOf(checked);
  const job = longestTrial(checked, packages) ?? { ...checked, packages, jobId: checked.spec.jobId, trial: null };
  const configs = job.spec.replicaGroups.map(({ role, count }) =>
    vmConfigOf({ ...job, attempt: ORDINAL_MAX, ...SAVING }, { role, index: count - 1 }, longestRun(job)),
  );
  const problems = configs.flatMap((config) =>
    jsonBytesOf(config) > METADATA_VALUE_BYTES_MAX ? describe(config) : findLongVariable(job.spec, config),
  );
  return { problems: problems.slice(0, 1) };
};

function longestRun({ spec }: Pick<ConfiguredJob, 'spec'>) {
  // Attempts after the first may have any part of a second left.
  return { settings: LONGEST_SETTINGS, programMs: spec.limits.maxRunningMs + 86_400_000.5 };
}

/** Null for a single training. */
function longestTrial(
  { spec }: CheckedJob,
  packages: ConfiguredJob['packages'],
): Omit<ConfiguredJob, 'attempt' | 'ledger' | 'placedAt' | 'createdAt'> | null {
  const { study } = spec;
  if (study === null) {
    return null;
  }
  const tuning = { spec, study, tuningId: spec.jobId };
  const jobId = trialJobIdOf(spec.jobId, ORDINAL_MAX);
  const values = Object.fromEntries(parametersIn(study.parameters).map(({ id, space }) => [id, longestValueOf(space)]));
  const trial = { jobId, ordinal: ORDINAL_MAX, values };
  return { jobId, packages, warnings: [], spec: trialSpecOf(tuning, trial), trial: trialRefOf(tuning, trial) };
}

/** With those that are active for some values of others only. */
function parametersIn(parameters: readonly Parameter[]): readonly Parameter[] {
  return parameters.flatMap((parameter) => [
    parameter,
    ...parametersIn(parameter.children.map(({ parameter: child }) => child)),
  ]);
}

function longestValueOf(space: ParameterSpace): string {
  const values = 'values' in space ? space.values : [space.min, space.max, -Number.MIN_VALUE, -(2 ** -1_022)];
  const [longest = ''] = values.map(formatValue).sort((a, b) => jsonBytesOf(b) - jsonBytesOf(a));
  return longest;
}

function describe(config: VmConfig): Problem {
  const longest = PARTS.reduce((one, other) => (bytesOf(config, other) > bytesOf(config, one) ? other : one));
  return {
    code: 'CONFIGURATION_TOO_LONG',
    message: `The configuration of a VM of this job can have ${jsonBytesOf(config)} bytes, ${bytesOf(config, longest)} of them in ${longest.what}. Compute Engine accepts ${METADATA_VALUE_BYTES_MAX} bytes (256 KiB) in one value of a VM's metadata, and ${METADATA_BYTES_MAX} bytes (512 KiB) in all values together.`,
    remedy: longest.remedy,
  };
}

function bytesOf(config: VmConfig, { keys }: Part): number {
  const rest = JSON.stringify(config, (key, value: unknown) => (keys.includes(key) ? undefined : value));
  return jsonBytesOf(config) - Buffer.byteLength(rest);
}
