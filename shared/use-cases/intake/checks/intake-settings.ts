import type { Architecture } from '#shared/domain/architecture.ts';
import type { VmLimits } from '#shared/domain/vm-limits.ts';
import type { SecretNames } from '#shared/ports/secret-names.ts';
import type { InternetAccess } from '#shared/protocol/internet-access.ts';
import type { JobRights } from '#shared/protocol/job-rights.ts';
import type { DescribeMissing } from '#shared/use-cases/intake/checks/missing-rights.ts';

export type RuntimeFound = {
  /** Differs from the requested version if another runtime replaces it. */
  readonly name: string;
  /** How the replacement differs, as one sentence. */
  readonly note: string | null;
  /** The advice about a replacement, if not to set its name. */
  readonly remedy?: string | undefined;
  /** The Python version of the image, such as `3.10`; null if unknown. */
  readonly pythonVersion: string | null;
  /** Compute Engine's names of the GPUs that driver and framework of the image support; null if unknown. */
  readonly gpus: readonly string[] | null;
  /** The packages of the image, as pins; null or undefined if unknown. */
  readonly packages?: readonly string[] | null | undefined;
  /** Size of the boot disk if the runtime boots from machine images only; null if any size is possible. */
  readonly bootDiskGib: number | null;
  /** The processors on which the image boots. */
  readonly architecture: Architecture;
};

/** Intake's settings for its deployment. */
export type IntakeSettings = {
  /** The bucket in which uploads are submissions. */
  readonly uploadBucket: string;
  /** The bucket of job directories that job files do not set: `gs://BUCKET/JOB_ID`. */
  readonly jobsBucket: string;
  /** Region of jobs that set none. */
  readonly regionDefault: string;
  /** Runtime of jobs that set none. */
  readonly runtimeVersionDefault: string;
  /** The runtime that a version maps to; undefined if there is none. */
  readonly runtimeOf: (runtimeVersion: string) => RuntimeFound | undefined;
  /** The runtime versions with an image of their own, for messages. */
  readonly runtimeVersions: readonly string[];
  /** Zones that this deployment uses; a region stands for all of its zones. Null for all zones. */
  readonly zones: readonly string[] | null;
  /** The names of the notification channels that jobs may name. */
  readonly notificationChannels: readonly string[];
  /** The service accounts, networks and keys that jobs may name. */
  readonly rights: JobRights;
  readonly secretNames: SecretNames;
  /** How the operator adds what a job names and `rights` lacks. */
  readonly describeMissingRight: DescribeMissing;
  /** The Cloud KMS key of the disks of jobs that name none; undefined for a Google-managed key. */
  readonly diskKmsKey?: string | undefined;
  /** Limits on VMs that are kept after a failure. */
  readonly keeping: { readonly msMax: number; readonly costUsdMax: number };
  /** Whether users can open a shell in VMs. */
  readonly hasShellAccess: boolean;
  /** The limits on the VMs of all jobs together. A job that exceeds one by itself is rejected. */
  readonly vmLimits: VmLimits;
  /** The architecture that the processors of a machine type run; in the embedded cloud, those of this machine. */
  readonly architectureOf: (machineType: string) => Architecture;
  /** Undefined if VMs reach every host that this machine reaches, as those of the embedded cloud do. */
  readonly internetAccess?: InternetAccess | undefined;
  readonly containers: ContainerSettings;
  /** Buckets that the VMs of all accounts may read; undefined in the embedded cloud, which checks no access. */
  readonly dataBuckets?: readonly string[] | undefined;
};

/** The conditions under which this deployment's VMs run images. */
export type ContainerSettings = {
  /** Whether programs may run as root in their containers. */
  readonly allowsRoot: boolean;
  /** Whether this machine, in the embedded cloud, has a container engine that answers. */
  readonly hasEngine: () => Promise<boolean>;
};
