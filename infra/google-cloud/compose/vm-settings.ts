import type { Settings } from '#functions/settings.ts';
import { PREEMPTION_NOTICE_SECONDS } from '#infra/google-cloud/compute-engine/instance-request.ts';
import { packAgent, readShutdownScript, readStartupScript } from '#infra/vm-agent/pack-agent.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import type { VmSettings } from '#shared/use-cases/provision/vm-request.ts';

/** The port at which AI Platform's clusters met (docs, "Distributed training details"). */
const CLUSTER_PORT = 2_222;

/** Hyperdisk's largest (Compute Engine docs, "Hyperdisk limits"): on a VM of its own, a job may fill its disk. */
const DISK_BYTES_MAX = 64 * 2 ** 40;

/** What all VMs of a deployment are told. A lease (`TIMEOUTS.leaseMs`) outlives several heartbeats. */
export async function readVmSettings(
  settings: Settings<
    | 'PROJECT_ID'
    | 'HEARTBEAT_URL'
    | 'HEARTBEAT_AUDIENCE'
    | 'STORAGE_EMULATOR_HOST'
    | 'LOGGING_ENDPOINT'
    | 'SECRET_MANAGER_ENDPOINT'
  >,
): Promise<VmSettings> {
  return {
    projectId: settings.PROJECT_ID,
    endpoints: {
      heartbeatUrl: settings.HEARTBEAT_URL,
      heartbeatAudience: settings.HEARTBEAT_AUDIENCE,
      storageUrl: settings.STORAGE_EMULATOR_HOST ?? 'https://storage.googleapis.com',
      loggingUrl: settings.LOGGING_ENDPOINT ?? 'https://logging.googleapis.com',
      secretManagerUrl: settings.SECRET_MANAGER_ENDPOINT ?? 'https://secretmanager.googleapis.com',
    },
    intervals: { heartbeatSeconds: 20, syncSeconds: 30, logSeconds: 5 },
    limits: {
      // A Spot VM that shuts down has 30 s for it (Compute Engine docs, "Preemption process"), its final save included.
      stopGraceSeconds: 15,
      preemptionNoticeSeconds: PREEMPTION_NOTICE_SECONDS,
      controlPlaneTimeoutSeconds: TIMEOUTS.controlPlaneTimeoutMs / 1_000,
      logBytesMax: 256 * 2 ** 20,
      diskBytesMax: DISK_BYTES_MAX,
    },
    startupScript: await readStartupScript(),
    shutdownScript: await readShutdownScript(),
    agent: await packAgent(),
    // The VMs of an attempt are in one zone, where Compute Engine's internal DNS knows them by their names.
    clusterAddressOf: ({ vmName }) => `${vmName}:${CLUSTER_PORT}`,
    // Placements name the runtime; what it boots from is the adapter's business.
    machineImageOf: (runtimeVersion) => runtimeVersion,
  };
}
