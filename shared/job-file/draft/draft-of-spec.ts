import { toAcceleratorEnum } from '#shared/catalog/catalog.ts';
import type { HealthPolicy } from '#shared/domain/health.ts';
import {
  type JobSpec,
  MAX_RUNNING_MS_DEFAULT,
  type Program,
  type ReplicaGroup,
  type Reservation,
  ROLES,
  type SecretReference,
} from '#shared/domain/job-spec.ts';
import {
  type Dialect,
  EMPTY_DRAFT,
  EMPTY_PROGRAM,
  emptyPool,
  type HealthDraft,
  type JobDraft,
  type KeyedText,
  type PoolDraft,
  type ProgramDraft,
  type ReservationDraft,
} from '#shared/job-file/draft/job-draft.ts';
import { studyDraftOf } from '#shared/job-file/draft/study-draft-of.ts';
import type { Located } from '#shared/job-file/parser/findings.ts';

/** Google's key of specific reservations (Vertex AI's ReservationAffinity). */
const RESERVATION_KEY = 'compute.googleapis.com/reservation-name';

const DISK_DEFAULT = { bootDiskGib: 100, bootDiskType: 'pd-ssd' } as const;

/** The draft of a job that was accepted. `isBrief` leaves out values that are the defaults of AI Platform's format. */
export function draftOfSpec(
  spec: JobSpec,
  { dialect, isBrief }: { readonly dialect: Dialect; readonly isBrief: boolean },
): JobDraft {
  const { limits, programOptions } = spec;
  const isDefaultRuntime = isBrief && limits.maxRunningMs === MAX_RUNNING_MS_DEFAULT;
  const options = Object.entries(programOptions).map(([name, value]) => [name, at(value)]);
  return {
    ...EMPTY_DRAFT,
    dialect,
    ...(dialect === 'vertex-ai' ? { displayName: at(spec.jobId) } : { jobId: at(spec.jobId) }),
    labels: pairs(spec.labels),
    secrets: Object.entries(spec.secrets).map(([key, reference]) => at({ key, text: textOf(reference) })),
    scaleTier: dialect === 'ai-platform' ? at('CUSTOM') : undefined,
    pools: poolsOf(spec, { dialect, isBrief }),
    region: at(spec.region),
    jobDir: at(spec.jobDir),
    // A container has its own runtime; its VM boots from the default one.
    runtimeVersion: spec.program.kind === 'CONTAINER' ? undefined : at(spec.runtimeVersion),
    pythonVersion: atUnlessNull(spec.pythonVersion),
    maxRunningTime: isDefaultRuntime ? undefined : at(`${limits.maxRunningMs / 1_000}s`),
    maxWaitTime: limits.maxWaitMs === null ? undefined : at(`${limits.maxWaitMs / 1_000}s`),
    strategy: strategyOf(spec, dialect),
    restartsMax: isBrief && limits.restartsMax === 0 ? undefined : at(limits.restartsMax),
    keepOnFailure: limits.keepOnFailureMs === 0 ? undefined : at(`${limits.keepOnFailureMs / 1_000}s`),
    programOptions: Object.fromEntries(options),
    health: healthDraftOf(spec.health),
    serviceAccount: atUnlessNull(spec.serviceAccount),
    network: atUnlessNull(spec.network),
    subnetwork: atUnlessNull(spec.subnetwork),
    networkAttachment: atUnlessNull(spec.networkAttachment),
    kmsKeyName: atUnlessNull(spec.kmsKeyName),
    study: spec.study === null ? undefined : studyDraftOf(spec.study),
    notify:
      spec.notify === null
        ? undefined
        : { channels: spec.notify.channels?.map(at), states: spec.notify.states?.map(at) },
  };
}

type Style = { readonly dialect: Dialect; readonly isBrief: boolean };

/** In Vertex AI's list the index of a pool is its role, so absent pools are present too. */
function poolsOf({ replicaGroups, program }: JobSpec, style: Style): readonly PoolDraft[] {
  const last = Math.max(...replicaGroups.map(({ role }) => ROLES.indexOf(role)));
  return ROLES.slice(0, last + 1).flatMap((role) => {
    const group = replicaGroups.find((one) => one.role === role);
    if (group === undefined) {
      return style.dialect === 'vertex-ai' ? [emptyPool(role, '')] : [];
    }
    const isVertex = style.dialect === 'vertex-ai';
    const own = group.program ?? (role === 'master' || isVertex ? program : null);
    return [poolOf(group, own, style)];
  });
}

function poolOf(group: ReplicaGroup, program: Program | null, { dialect, isBrief }: Style): PoolDraft {
  const { role, count, machineType, accelerator, bootDiskGib, bootDiskType, reservation } = group;
  const isDefaultDisk = bootDiskGib === DISK_DEFAULT.bootDiskGib && bootDiskType === DISK_DEFAULT.bootDiskType;
  return {
    ...emptyPool(role, ''),
    count: role === 'master' && dialect !== 'vertex-ai' ? undefined : at(count),
    machineType: at(machineType),
    accelerator: {
      type: accelerator === null ? undefined : at(toAcceleratorEnum(accelerator.type)),
      count: accelerator === null ? undefined : at(accelerator.count),
    },
    ...(isBrief && isDefaultDisk ? {} : { bootDiskGib: at(bootDiskGib), bootDiskType: at(bootDiskType) }),
    reservation: reservation === null ? undefined : reservationOf(reservation),
    program: program === null ? EMPTY_PROGRAM : programOf(program, dialect),
  };
}

function programOf(program: Program, dialect: Dialect): ProgramDraft {
  const environment = pairs(program.environment);
  const args = program.args.length === 0 ? undefined : program.args.map(at);
  if (program.kind === 'CONTAINER') {
    const { packageUris, module } = program;
    return {
      ...EMPTY_PROGRAM,
      imageUri: at(program.imageUri),
      command: program.command.length === 0 ? undefined : program.command.map(at),
      ...(packageUris.length > 0 && { packageUris: packageUris.map(at) }),
      pythonModule: atUnlessNull(module),
      environment,
      ...(dialect === 'dropforge' ? { args } : { containerArgs: args }),
    };
  }
  const { packageUris, module } = program;
  const python = {
    packageUris: packageUris.map(at),
    pythonModule: atUnlessNull(module),
    command: program.command?.map(at),
  };
  return { ...EMPTY_PROGRAM, ...python, args, environment };
}

function reservationOf(reservation: Reservation): ReservationDraft {
  return reservation.kind === 'SPECIFIC'
    ? { type: at('SPECIFIC_RESERVATION'), key: at(RESERVATION_KEY), values: reservation.names.map(at) }
    : { type: at(`${reservation.kind === 'ANY' ? 'ANY' : 'NO'}_RESERVATION`), key: undefined, values: [] };
}

function strategyOf({ provisioningModel }: JobSpec, dialect: Dialect): Located<string> | undefined {
  switch (provisioningModel) {
    case 'STANDARD':
      return undefined;
    case 'SPOT':
      return at(dialect === 'ai-platform' ? 'LOW_COST' : 'SPOT');
    case 'FLEX_START':
      return at('FLEX_START');
  }
}

/** As users write it: `name`, `name:3`, or the full resource name for a secret of another project. */
function textOf({ project, secret, version }: SecretReference): string {
  if (project !== null) {
    return `projects/${project}/secrets/${secret}/versions/${version}`;
  }
  return version === 'latest' ? secret : `${secret}:${version}`;
}

function pairs(values: Readonly<Record<string, string>>): readonly Located<KeyedText>[] {
  return Object.entries(values).map(([key, text]) => at({ key, text }));
}

function at<T>(value: T): Located<T> {
  return { path: '', value };
}

function atUnlessNull<T>(value: T | null): Located<T> | undefined {
  return value === null ? undefined : at(value);
}

function healthDraftOf({ stalledAfterMs, ...actions }: HealthPolicy): HealthDraft {
  return {
    ...Object.fromEntries(Object.entries(actions).map(([name, action]) => [name, at(action)])),
    ...(stalledAfterMs !== undefined && { stalledAfter: at(`${stalledAfterMs / 1_000}s`) }),
  };
}
