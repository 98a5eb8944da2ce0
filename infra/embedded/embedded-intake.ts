import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { hasContainerEngine } from '#infra/embedded/container-engine.ts';
import type { EmbeddedConfig } from '#infra/embedded/embedded-config.ts';
import type { Environment } from '#infra/embedded/vm-proxy/environment.ts';
import type { Architecture } from '#shared/domain/architecture.ts';
import type { VmLimits } from '#shared/domain/vm-limits.ts';
import type { JobRights } from '#shared/protocol/job-rights.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/checks/intake-settings.ts';

/** That of this machine, which every VM and every runtime has. */
const ARCHITECTURE: Architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';

type Opened = Pick<IntakeSettings, 'uploadBucket' | 'jobsBucket' | 'secretNames'>;

/** The intake settings of this machine. */
export async function readEmbeddedIntakeSettings(
  config: EmbeddedConfig,
  opened: Opened,
  environment: Environment,
): Promise<IntakeSettings> {
  return {
    ...opened,
    regionDefault: config.regionDefault,
    runtimeVersionDefault: config.runtimeVersionDefault,
    zones: config.zones?.map(({ name }) => name) ?? null,
    // Every runtime version is accepted: all of them run on this machine's own Python.
    runtimeOf: runtimesOf(config, await findPythonVersion(config)),
    runtimeVersions: config.machineImages.map(({ name }) => name),
    vmLimits: vmLimitsOf(config),
    rights: embeddedRightsOf(config),
    describeMissingRight: missingEmbeddedLine,
    notificationChannels: Object.keys(config.notifications),
    // Every machine type runs on this machine's own processors.
    architectureOf: () => ARCHITECTURE,
    containers: {
      allowsRoot: config.containers.allowRoot,
      // Asked for each job: an engine may be started at any time.
      hasEngine: () => hasContainerEngine(environment),
    },
    keeping: { msMax: config.keepOnFailureSecondsMax * 1_000, costUsdMax: config.keepOnFailureCostUsdMax },
    hasShellAccess: true,
  };
}

/**
 * The lists of the configuration. Each account has a bucket of its own, as in a deployment, and reads any secret: the
 * servers here check no access.
 */
export function embeddedRightsOf({ projectId, jobAccounts, jobNetworks, jobKeys }: EmbeddedConfig): JobRights {
  const accounts = jobAccounts.map((email) => {
    const digest = createHash('sha256').update(email).digest('hex').slice(0, 8);
    return [email, { bucket: `${projectId}-jobs-${digest}`, secrets: null }] as const;
  });
  return { accounts: Object.fromEntries(accounts), networks: jobNetworks, keys: jobKeys };
}

const KEYS = { accounts: 'jobAccounts', networks: 'jobNetworks', keys: 'jobKeys' } as const;

/** Says what to add to the configuration of `dropforge up`. */
const missingEmbeddedLine: IntakeSettings['describeMissingRight'] = (
  list,
  { name, listed, region, networkAttachment },
) => {
  const entry =
    networkAttachment === undefined
      ? `{ subnetworks: { ${region}: projects/${name.split('/')[1]}/regions/${region}/subnetworks/SUBNETWORK } }`
      : `{ networkAttachments: [${networkAttachment}] }`;
  const value = list === 'networks' ? `{ ${name}: ${entry} }` : `[${[...listed, name].join(', ')}]`;
  return `Add ${KEYS[list]}: ${value} to the configuration of dropforge up (docs/embedded-cloud.md) and start it again`;
};

const VM_REMEDY = 'raise vmsMax in the configuration of dropforge up (docs/embedded-cloud.md)';

/** Returns the limit on the VMs of this machine. */
export function machineLimitsOf({ vmsMax }: EmbeddedConfig): VmLimits {
  return { VMS_MAX: { max: vmsMax, reason: `this machine runs at most ${vmsMax} VMs at a time`, remedy: VM_REMEDY } };
}

/** All VMs of a job are in one zone, so the largest zone is the limit. */
function vmLimitsOf(config: EmbeddedConfig): VmLimits {
  const max = Math.max(...(config.zones ?? [config]).map((zone) => zone.vmsMax));
  const reason = `no zone of this embedded cloud has capacity for more than ${max}`;
  return max < config.vmsMax ? { VMS_MAX: { max, reason, remedy: VM_REMEDY } } : machineLimitsOf(config);
}

/** The version of this machine's Python, which VMs run; null if it does not start, which the first VM then reports. */
function findPythonVersion({ machineImages: [first] }: EmbeddedConfig): Promise<string | null> {
  const script = 'import sys; print("%d.%d" % sys.version_info[:2])';
  return promisify(execFile)(first?.python ?? 'python3', ['-c', script]).then(
    ({ stdout }) => stdout.trim(),
    () => null,
  );
}

/** Only unknown runtime versions get a remark; the default version does not. */
function runtimesOf(config: EmbeddedConfig, pythonVersion: string | null): IntakeSettings['runtimeOf'] {
  const { machineImages, runtimeVersionDefault } = config;
  return (version) => {
    const isKnown = version === runtimeVersionDefault || machineImages.some(({ name }) => name.endsWith(version));
    const found = { note: null, pythonVersion, gpus: null, bootDiskGib: null, architecture: ARCHITECTURE };
    return isKnown
      ? { ...found, name: version }
      : {
          ...found,
          name: pythonVersion === null ? "this machine's own Python" : `this machine's own Python ${pythonVersion}`,
          remedy: `Check that the program runs there, or configure a machine image whose name ends with ${version} (machineImages in docs/embedded-cloud.md).`,
        };
  };
}
