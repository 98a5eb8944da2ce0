import * as z from 'zod';
import { computeError } from '#infra/embedded/compute-engine/error.ts';
import { findLabelsProblem, ownershipOf } from '#infra/embedded/compute-engine/labels.ts';
import { findMetadataProblem } from '#infra/embedded/compute-engine/vms/admission.ts';
import { countGpus, findFamily, findMachineType } from '#shared/catalog/catalog.ts';
import { BOOT_DISK_TYPES, type Reservation } from '#shared/domain/job-spec.ts';
import type { VmRequest } from '#shared/ports/vm-provider.ts';

const count = z.coerce.number().int().min(1);
const duration = z.object({ seconds: z.coerce.number().int() });

/** The fields that affect a VM of this cloud; other fields are accepted and ignored. */
const instanceBodySchema = z.object({
  name: z.string(),
  machineType: z.string().optional(),
  labels: z.record(z.string(), z.string()).default({}),
  metadata: z.object({ items: z.array(z.object({ key: z.string(), value: z.string() })).default([]) }).optional(),
  sourceMachineImage: z.string().optional(),
  disks: z
    .array(
      z.object({
        diskEncryptionKey: z.object({ kmsKeyName: z.string().optional() }).optional(),
        initializeParams: z
          .object({ sourceImage: z.string().optional(), diskSizeGb: count.optional(), diskType: z.string().optional() })
          .optional(),
      }),
    )
    .default([]),
  networkInterfaces: z
    .array(z.object({ subnetwork: z.string().optional(), networkAttachment: z.string().optional() }))
    .default([]),
  serviceAccounts: z.array(z.object({ email: z.string() })).default([]),
  guestAccelerators: z.array(z.object({ acceleratorType: z.string(), acceleratorCount: count })).default([]),
  scheduling: z
    .object({
      provisioningModel: z.enum(['STANDARD', 'SPOT', 'FLEX_START']).optional(),
      preemptible: z.boolean().optional(),
      automaticRestart: z.boolean().optional(),
      onHostMaintenance: z.enum(['MIGRATE', 'TERMINATE']).optional(),
      maxRunDuration: duration.optional(),
      preemptionNoticeDuration: duration.optional(),
    })
    .default({}),
  params: z.object({ requestValidForDuration: duration.optional() }).default({}),
  reservationAffinity: z
    .object({ consumeReservationType: z.string().optional(), values: z.array(z.string()).default([]) })
    .optional(),
});

export type InstanceBody = z.infer<typeof instanceBodySchema>;

/** The machine type and disk size that a machine image would provide. */
const MACHINE_TYPE_DEFAULT = 'n1-standard-4';
const DISK_GIB_DEFAULT = 100;

/** Docs, "Limit the run time of a VM": 30 seconds to 120 days; at most 7 days for Flex-start VMs. */
const RUN_SECONDS_MIN = 30;
const RUN_SECONDS_MAX = 120 * 86_400;
const FLEX_START_RUN_SECONDS_MAX = 7 * 86_400;

/** Docs, "Create a Flex-start VM": no wait, or 90 seconds to two hours. */
const FLEX_START_WAIT_SECONDS_MIN = 90;
const FLEX_START_WAIT_SECONDS_MAX = 7_200;

/** Instance.name. */
const NAME = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;

/**
 * Parses and validates the body of an insertion, without the rules that depend on state. Throws errors as Google words
 * them.
 */
export function readInstanceBody(given: unknown): InstanceBody {
  const parsed = instanceBodySchema.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw invalidField((issue?.path ?? []).join('.'), `${issue?.message}.`);
  }
  const body = parsed.data;
  if (!NAME.test(body.name)) {
    throw invalidField('name', `'${body.name}'. Must be a match of regex '(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)'`);
  }
  const labelsProblem = findLabelsProblem(body.labels);
  if (labelsProblem !== undefined) {
    throw invalidField('labels', labelsProblem);
  }
  const machineType = lastOf(body.machineType ?? MACHINE_TYPE_DEFAULT);
  if (findMachineType(machineType) === undefined) {
    throw invalidField('machineType', `'${body.machineType}'. The referenced resource does not exist.`);
  }
  const diskType = lastOf(body.disks[0]?.initializeParams?.diskType ?? '');
  if (diskType !== '' && !findFamily(machineType)?.bootDisks.some((type) => type === diskType)) {
    throw computeError('badRequest', `${diskType} disk type cannot be used by ${machineType} machine type.`);
  }
  const problem = findSchedulingProblem(body);
  if (problem !== undefined) {
    throw invalidField('scheduling', problem);
  }
  const waitProblem = findWaitProblem(body);
  if (waitProblem !== undefined) {
    throw invalidField('params.requestValidForDuration', waitProblem);
  }
  const oversize = findMetadataProblem(metadataOfBody(body));
  if (oversize !== undefined) {
    throw computeError('invalid', `Value for field 'resource.metadata.items' is too large: ${oversize}`);
  }
  return body;
}

/** Compute API, "Scheduling": settings that are incompatible with provisioning models and GPUs. */
function findSchedulingProblem(body: InstanceBody): string | undefined {
  const { scheduling } = body;
  const { automaticRestart, maxRunDuration, preemptionNoticeDuration } = scheduling;
  const model = modelOf(scheduling);
  const seconds = maxRunDuration?.seconds;
  const secondsMax = model === 'FLEX_START' ? FLEX_START_RUN_SECONDS_MAX : RUN_SECONDS_MAX;
  if (model !== 'STANDARD' && automaticRestart !== false && automaticRestart !== undefined) {
    return `Automatic restart is not supported for ${model}.`;
  }
  const maintenanceProblem = findMaintenanceProblem(body);
  if (maintenanceProblem !== undefined) {
    return maintenanceProblem;
  }
  if (model === 'FLEX_START' && seconds === undefined) {
    return 'FLEX_START requires maxRunDuration.';
  }
  if (seconds !== undefined && (seconds < RUN_SECONDS_MIN || seconds > secondsMax)) {
    return `maxRunDuration must be ${RUN_SECONDS_MIN} to ${secondsMax} seconds, not ${seconds}.`;
  }
  return preemptionNoticeDuration !== undefined && model !== 'SPOT'
    ? 'preemptionNoticeDuration is supported for SPOT only.'
    : undefined;
}

/**
 * Docs, "Set the host maintenance policy", limitations. The default is MIGRATE for STANDARD VMs, those with GPUs too,
 * which are then rejected.
 */
function findMaintenanceProblem(body: InstanceBody): string | undefined {
  const { scheduling, guestAccelerators } = body;
  const model = modelOf(scheduling);
  const { onHostMaintenance = model === 'STANDARD' ? 'MIGRATE' : 'TERMINATE' } = scheduling;
  const machineType = lastOf(body.machineType ?? MACHINE_TYPE_DEFAULT);
  const { hostMaintenance } = findFamily(machineType) ?? {};
  if (onHostMaintenance === 'TERMINATE') {
    return model === 'STANDARD' && hostMaintenance === 'MIGRATE_ONLY'
      ? `Instances of ${machineType} do not support onHostMaintenance=TERMINATE unless they are Spot VMs.`
      : undefined;
  }
  if (model !== 'STANDARD') {
    return `${model} VMs must have onHostMaintenance TERMINATE.`;
  }
  if (guestAccelerators.length > 0 || countGpus({ machineType, accelerator: null }) > 0) {
    return 'Instances with guest accelerators do not support live migration. Set onHostMaintenance to TERMINATE.';
  }
  return hostMaintenance === 'TERMINATE' ? `Instances of ${machineType} do not support live migration.` : undefined;
}

function findWaitProblem({ scheduling, params }: InstanceBody): string | undefined {
  const seconds = params.requestValidForDuration?.seconds ?? 0;
  if (seconds !== 0 && modelOf(scheduling) !== 'FLEX_START') {
    return 'It is supported for FLEX_START only.';
  }
  return seconds !== 0 && (seconds < FLEX_START_WAIT_SECONDS_MIN || seconds > FLEX_START_WAIT_SECONDS_MAX)
    ? `It must be ${FLEX_START_WAIT_SECONDS_MIN} to ${FLEX_START_WAIT_SECONDS_MAX} seconds, not ${seconds}.`
    : undefined;
}

type InsertContext = {
  readonly zone: string;
  readonly runtime: string;
  /** The project's own service account. */
  readonly defaultAccount: string;
};

/** The VM request of an insertion. A VM without Dropforge's labels is created too, but belongs to no job. */
export function toVmRequest(body: InstanceBody, { zone, runtime, defaultAccount }: InsertContext): VmRequest {
  const [disk] = body.disks;
  const [accelerator] = body.guestAccelerators;
  const diskType = lastOf(disk?.initializeParams?.diskType ?? '');
  return {
    ...ownershipOf(body.name, body.labels),
    vmName: body.name,
    zone,
    machineType: lastOf(body.machineType ?? MACHINE_TYPE_DEFAULT),
    accelerator: accelerator
      ? { type: lastOf(accelerator.acceleratorType), count: accelerator.acceleratorCount }
      : null,
    provisioningModel: modelOf(body.scheduling),
    machineImage: runtime,
    bootDiskGib: disk?.initializeParams?.diskSizeGb ?? DISK_GIB_DEFAULT,
    bootDiskType: BOOT_DISK_TYPES.find((type) => type === diskType) ?? 'pd-ssd',
    reservation: toReservation(body),
    ...toRights(body, defaultAccount),
    capacityWaitSeconds: body.params.requestValidForDuration?.seconds || null,
    maxRunSeconds: body.scheduling.maxRunDuration?.seconds ?? RUN_SECONDS_MAX,
    metadata: metadataOfBody(body),
  };
}

/** `default` stands for the project's own account (Instance.serviceAccounts). */
function toRights(body: InstanceBody, defaultAccount: string) {
  const [{ email = defaultAccount } = {}] = body.serviceAccounts;
  const [first, second] = body.networkInterfaces;
  return {
    serviceAccount: email === defaultAccount || email === 'default' ? null : email,
    subnetwork: first?.subnetwork ?? null,
    networkAttachment: second?.networkAttachment ?? null,
    kmsKeyName: body.disks[0]?.diskEncryptionKey?.kmsKeyName ?? null,
  };
}

export function metadataOfBody({ metadata }: Pick<InstanceBody, 'metadata'>): Readonly<Record<string, string>> {
  return Object.fromEntries((metadata?.items ?? []).map(({ key, value }) => [key, value]));
}

/** The last segment of a resource name or URL. */
export function lastOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

function modelOf({ provisioningModel, preemptible }: InstanceBody['scheduling']) {
  return provisioningModel ?? (preemptible === true ? 'SPOT' : 'STANDARD');
}

function toReservation({ reservationAffinity }: InstanceBody): Reservation | null {
  switch (reservationAffinity?.consumeReservationType) {
    case 'SPECIFIC_RESERVATION':
      return { kind: 'SPECIFIC', names: reservationAffinity.values };
    case 'NO_RESERVATION':
      return { kind: 'NONE' };
    default:
      return null;
  }
}

function invalidField(field: string, problem: string) {
  return computeError('invalid', `Invalid value for field 'resource.${field}': ${problem}`);
}
