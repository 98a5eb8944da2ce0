import type { JobSpec } from '#shared/domain/job-spec.ts';
import type { Role } from '#shared/domain/replica-name.ts';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import type { SourceLocation } from '#shared/job-file/parser/findings.ts';
import type { PackageReport } from '#shared/package/inspect-package.ts';
import type { ImageRegistry } from '#shared/ports/image-registry.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import type { ObjectInfo, ObjectStore } from '#shared/ports/object-store.ts';
import type { TuningStore } from '#shared/ports/tuning-store.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/checks/intake-settings.ts';

export type CheckPorts = {
  readonly jobs: JobStore;
  readonly tunings: TuningStore;
  readonly objects: ObjectStore;
  readonly registry: ImageRegistry;
  readonly intake: IntakeSettings;
};

/** A package that was inspected, in the generation that VMs fetch. */
export type InspectedPackage = { readonly uri: string; readonly info: ObjectInfo; readonly report: PackageReport };

/** An image that the job file names for the container of a role, and its place there. */
export type NamedImage = { readonly role: Role; readonly imageUri: string; readonly location?: SourceLocation };

/** A job whose file is valid by itself, as far as it is checked. */
export type CheckedJob = {
  readonly draft: JobDraft;
  /** The job that its VMs run: pins of checks take the place of what the file names. */
  readonly spec: JobSpec;
  /** The names of the zones in which it can run in this deployment. */
  readonly zones: readonly string[];
  readonly images: readonly NamedImage[];
  /** The package that contains the job file; null if no package does. */
  readonly enclosingPackage: InspectedPackage | null;
  /** The packages of all programs that exist, each once. */
  readonly packages: readonly InspectedPackage[];
  /** The ids of the tunings that it resumes, the nearest first. */
  readonly resumes: readonly string[];
  /** Those of the job file and of the checks before. */
  readonly warnings: readonly Problem[];
};

export type Found = {
  readonly problems?: readonly Problem[];
  readonly warnings?: readonly Problem[];
  /** Uploads that the submission waits for. */
  readonly missing?: readonly Problem[];
  /** Services that did not answer: the submission can be accepted as it is, later. */
  readonly unavailable?: readonly Problem[];
  /** The parts of the job that are fixed now, whatever happens later to what its file names. */
  readonly pins?: Partial<Pick<CheckedJob, 'spec' | 'packages' | 'resumes'>>;
};

/** One check of a job against its deployment. It changes nothing, and throws only if it cannot be made. */
export type Check = (job: CheckedJob, ports: CheckPorts) => Found | Promise<Found>;
