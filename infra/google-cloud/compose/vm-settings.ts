import type { SettingsOf } from '#functions/read-settings.ts';
import { urlOf } from '#infra/google-cloud/compose/client-options.ts';
import { vmLimitsOf } from '#infra/google-cloud/compose/vm-limits.ts';
import { PREEMPTION_NOTICE_SECONDS } from '#infra/google-cloud/compute-engine/instance-request.ts';
import { readShutdownScript, readStartupScript } from '#infra/vm-agent/boot-scripts.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { cachedEnvironmentsIn } from '#shared/use-cases/provision/cached-environments.ts';
import { imageCredentialsIn } from '#shared/use-cases/provision/image-credentials.ts';
import type { VmSettings } from '#shared/use-cases/provision/vm-settings.ts';

/** The port that AI Platform's clusters used (docs, "Distributed training details"), and that of the master's agent. */
const [CLUSTER_PORT, PEER_PORT] = [2_222, 2_221];

/**
 * The largest Hyperdisk (Compute Engine docs, "Hyperdisk limits"): a job has its VM to itself and may fill the disk.
 */
const DISK_BYTES_MAX = 64 * 2 ** 40;

/**
 * Agent settings that all VMs of a deployment share. A lease (`TIMEOUTS.leaseMs`) spans several heartbeat intervals.
 */
export async function readVmSettings(settings: SettingsOf<'provision'>): Promise<VmSettings> {
  return {
    projectId: settings.PROJECT_ID,
    endpoints: {
      heartbeatUrl: settings.HEARTBEAT_URL,
      heartbeatAudience: settings.HEARTBEAT_AUDIENCE,
      storageUrl: urlOf('storage', settings.STORAGE_EMULATOR_HOST),
      loggingUrl: urlOf('logging', settings.LOGGING_ENDPOINT),
      secretManagerUrl: urlOf('secretmanager', settings.SECRET_MANAGER_ENDPOINT),
    },
    ...(settings.CACHE_BUCKET !== undefined && { cachedEnvironments: cachedEnvironmentsIn(settings.CACHE_BUCKET) }),
    cachedEnvironmentsOf(serviceAccount) {
      const bucket = settings.JOB_RIGHTS.accounts[serviceAccount]?.bucket;
      return bucket === undefined ? undefined : cachedEnvironmentsIn(bucket);
    },
    intervals: { heartbeatSeconds: 20, syncSeconds: 30, logSeconds: 5 },
    limits: {
      // A preempted Spot VM has 30 s to shut down (Compute Engine docs, "Preemption process"), including its final
      // save.
      stopGraceSeconds: 15,
      preemptionNoticeSeconds: PREEMPTION_NOTICE_SECONDS,
      controlPlaneTimeoutSeconds: TIMEOUTS.controlPlaneTimeoutMs / 1_000,
      logBytesMax: 256 * 2 ** 20,
      diskBytesMax: DISK_BYTES_MAX,
    },
    vmLimits: vmLimitsOf(settings),
    hasRequestedGpus: true,
    imageCredentialsOf: imageCredentialsIn(
      { projectId: settings.PROJECT_ID, registries: settings.REGISTRIES },
      { hasGoogleIdentity: true },
    ),
    startupScript: await readStartupScript(),
    shutdownScript: await readShutdownScript(),
    agent: settings.AGENT_URI,
    // The VMs of an attempt are in one zone, where Compute Engine's internal DNS resolves their names.
    clusterAddressOf: ({ vmName }) => `${vmName}:${CLUSTER_PORT}`,
    peerAddressOf: ({ vmName }) => `${vmName}:${PEER_PORT}`,
    // A placement names the runtime; the adapter resolves it to a boot source.
    machineImageOf: (runtimeVersion) => runtimeVersion,
  };
}
