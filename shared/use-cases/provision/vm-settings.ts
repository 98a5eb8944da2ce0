import type { VmLimits } from '#shared/domain/vm-limits.ts';
import type { AgentRef } from '#shared/protocol/agent-ref.ts';
import type { VmConfig } from '#shared/protocol/vm-config.ts';
import type { ImageCredentials } from '#shared/use-cases/provision/image-credentials.ts';

/** Where VMs keep the packages that they have installed. */
export type CachedEnvironments = NonNullable<VmConfig['cachedEnvironments']>;

/** The settings from which every VM of the deployment is created, whatever its job. */
export type VmSettings = {
  readonly projectId: string;
  readonly endpoints: VmConfig['endpoints'];
  readonly intervals: VmConfig['intervals'];
  /** Undefined: VMs install their packages at every start. */
  readonly cachedEnvironments?: CachedEnvironments;
  /**
   * The same for VMs of a job with its own service account, which has no access to what others have installed, nor the
   * other way round; undefined for accounts without a place.
   */
  readonly cachedEnvironmentsOf?: (serviceAccount: string) => CachedEnvironments | undefined;
  readonly limits: Pick<
    VmConfig['limits'],
    'stopGraceSeconds' | 'preemptionNoticeSeconds' | 'controlPlaneTimeoutSeconds' | 'logBytesMax'
  > & {
    /** Limit on disk usage if the machine has no disk of its own, as in the embedded cloud. */
    readonly diskBytesMax: number;
  };
  /** The limits of the VMs of all jobs together. */
  readonly vmLimits: VmLimits;
  /** Whether VMs have the GPUs that they request; the embedded cloud's have those of its machine, if any. */
  readonly hasRequestedGpus: boolean;
  /** How VMs log in to the registry of an image, by its host. */
  readonly imageCredentialsOf: (host: string) => ImageCredentials;
  /** `startup.sh` and `shutdown.sh`. */
  readonly startupScript: string;
  readonly shutdownScript: string;
  readonly agent: AgentRef;
  readonly machineImageOf: (runtimeVersion: string) => string;
  /** `host:port` at which the other replicas of a job reach this one. */
  readonly clusterAddressOf: (member: ClusterMember) => string;
  /** `host:port` at which the agents of the other replicas reach that of the master. */
  readonly peerAddressOf: (master: ClusterMember) => string;
};

/** The part of it from which the agent's configuration is written. */
export type ConfigSettings = Pick<
  VmSettings,
  | 'projectId'
  | 'endpoints'
  | 'intervals'
  | 'limits'
  | 'hasRequestedGpus'
  | 'imageCredentialsOf'
  | 'cachedEnvironments'
  | 'cachedEnvironmentsOf'
  | 'clusterAddressOf'
  | 'peerAddressOf'
>;

export type ClusterMember = {
  readonly jobId: string;
  readonly attempt: number;
  readonly vmName: string;
  /** The replica's position among all replicas of the job, from 0. */
  readonly position: number;
};
