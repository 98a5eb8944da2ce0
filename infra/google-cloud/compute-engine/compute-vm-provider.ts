import { randomUUID } from 'node:crypto';
import type { InstancesClient, ZoneOperationsClient } from '@google-cloud/compute';
import * as z from 'zod';
import {
  type BootSource,
  listBootSources,
  type RuntimeImages,
} from '#infra/google-cloud/compute-engine/boot-source.ts';
import { classifyFault } from '#infra/google-cloud/compute-engine/classify-fault.ts';
import {
  type ComputeFault,
  parseOperationFault,
  parseRequestFault,
} from '#infra/google-cloud/compute-engine/compute-fault.ts';
import { createComputeVmRemoval } from '#infra/google-cloud/compute-engine/compute-vm-removal.ts';
import { requestIdOf, toInsertRequest, type VmDefaults } from '#infra/google-cloud/compute-engine/instance-request.ts';
import type { ComputeRest } from '#infra/google-cloud/compute-engine/list-instances.ts';
import { findInstance, type NamedVm, toVm } from '#infra/google-cloud/compute-engine/read-instance.ts';
import { causeOf } from '#shared/domain/cause.ts';
import type { CreateOutcome, VmProvider, VmRequest } from '#shared/ports/vm-provider.ts';

/** Clients, and the settings that VMs are created with. */
export type ComputeEngine = {
  readonly instances: InstancesClient;
  readonly operations: ZoneOperationsClient;
  readonly rest: ComputeRest;
  readonly defaults: VmDefaults;
  readonly images: RuntimeImages;
};

/**
 * `wait` returns after at most two minutes (API docs, "zoneOperations.wait"); the function's timeout is nine minutes.
 */
const WAITS_COUNT_MAX = 3;

const CONFLICT = 409;

const operationSchema = z.object({ name: z.string(), status: z.string() });
const insertedSchema = z.object({ targetId: z.coerce.string().regex(/^\d+$/) });

/** VMs on Compute Engine. Creation is idempotent: VM names and request ids are derived from the job. */
export function createComputeVmProvider(engine: ComputeEngine): VmProvider {
  const { instances, operations, rest, defaults } = engine;
  const { projectId } = defaults;
  return {
    ...createComputeVmRemoval({ instances, operations, rest, projectId }),
    create: (request) => createVm(engine, request),
    findShortage: async () => undefined,
    async find(vm) {
      const found = await findInstance({ instances, projectId }, vm);
      return found && toVm(found);
    },
  };
}

/**
 * Creates a VM, or returns why it could not be created. If one copy of the machine image is rate-limited, uses the next
 * one, and after the last the custom image. The first copy is derived from the VM's name, so that a repeated request
 * starts with the same one.
 */
async function createVm(engine: ComputeEngine, request: VmRequest): Promise<CreateOutcome> {
  const rotation = Number.parseInt(requestIdOf(request.vmName).slice(0, 8), 16);
  let outcome: CreateOutcome | undefined;
  for (const source of listBootSources(engine.images, request, rotation)) {
    outcome = await createFrom(engine, request, source);
    if (outcome.outcome !== 'FAILED' || outcome.failure.cause.code !== 'RATE_LIMITED') {
      return outcome;
    }
  }
  return outcome ?? unknownRuntime(request, engine);
}

async function createFrom(engine: ComputeEngine, request: VmRequest, source: BootSource): Promise<CreateOutcome> {
  const inserted = await insert(engine, request, source).catch(faultOrRethrow);
  if ('outcome' in inserted) {
    return inserted;
  }
  const own = isConflict(inserted) ? await findOwn(engine, request, inserted) : undefined;
  return own ?? toFailure(engine, { request, source, fault: inserted });
}

function faultOrRethrow(error: unknown): ComputeFault {
  const fault = parseRequestFault(error);
  if (fault === null) {
    throw error;
  }
  return fault;
}

/** The name is in use: reported by the request, or by the operation if two insertions were concurrent. */
function isConflict({ httpStatus, codes }: ComputeFault): boolean {
  return httpStatus === CONFLICT || codes.includes('RESOURCE_ALREADY_EXISTS');
}

type Created = Exclude<CreateOutcome, { outcome: 'FAILED' }>;

/**
 * Inserts the VM, or returns Compute Engine's fault. If the first response is an operation that is already done, it is
 * that of an earlier request with the same id. If the VM of that request no longer exists, or the request failed, the
 * insertion is retried with another request id. Of concurrent retries only one succeeds, because VM names are unique.
 */
async function insert(engine: ComputeEngine, request: VmRequest, source: BootSource): Promise<Created | ComputeFault> {
  const insertRequest = toInsertRequest(request, engine.defaults, source);
  const [first] = await engine.instances.insert(insertRequest);
  if (operationSchema.parse(first.latestResponse).status !== 'DONE') {
    return waitForInsertion(engine, request, first.latestResponse);
  }
  const found = parseOperationFault(first.latestResponse) === null ? await findNamed(engine, request) : undefined;
  if (found !== undefined && belongsTo(found, request)) {
    return toCreated(found, request);
  }
  const [retry] = await engine.instances.insert({ ...insertRequest, requestId: randomUUID() });
  return waitForInsertion(engine, request, retry.latestResponse);
}

/**
 * Waits for the insertion to end. If the request may wait for capacity, returns as soon as the VM is PENDING: whether
 * the operation ends at PENDING or at RUNNING is not documented, and the wait for capacity can last two hours.
 */
async function waitForInsertion(
  engine: ComputeEngine,
  request: VmRequest,
  started: unknown,
): Promise<Created | ComputeFault> {
  const { operations, defaults } = engine;
  const { zone, capacityWaitSeconds } = request;
  let operation = started;
  for (let waits = 0; ; waits += 1) {
    const found = capacityWaitSeconds === null ? undefined : await findNamed(engine, request);
    if (found?.status === 'PENDING' && belongsTo(found, request)) {
      return toCreated(found, request);
    }
    const { name, status } = operationSchema.parse(operation);
    if (status === 'DONE') {
      const fault = parseOperationFault(operation);
      return fault ?? { outcome: 'CREATED', instanceId: insertedSchema.parse(operation).targetId };
    }
    if (waits === WAITS_COUNT_MAX) {
      throw new Error(`Operation ${name} in ${zone} is not done yet. Retry the same request to wait for it.`);
    }
    [operation] = await operations.wait({ project: defaults.projectId, zone, operation: name });
  }
}

function findNamed({ instances, defaults }: ComputeEngine, request: VmRequest): Promise<NamedVm | undefined> {
  return findInstance({ instances, projectId: defaults.projectId }, request);
}

function belongsTo({ owner }: NamedVm, { jobId, attempt }: VmRequest): boolean {
  return owner?.jobId === jobId && owner.attempt === attempt;
}

/** The VM with this name if it belongs to this attempt; undefined if it belongs to another owner. */
async function findOwn(
  engine: ComputeEngine,
  request: VmRequest,
  { message }: ComputeFault,
): Promise<Created | undefined> {
  const found = await findNamed(engine, request);
  if (found === undefined) {
    // The VM is deleted, but its disk may exist for a moment longer.
    throw new Error(`VM ${request.vmName} in ${request.zone} was just deleted (${message}). Retry the request.`);
  }
  return belongsTo(found, request) ? toCreated(found, request) : undefined;
}

/** Throws if the VM is being deleted: its name becomes available again. */
function toCreated({ instanceId, status }: NamedVm, { vmName, zone }: VmRequest): Created {
  if (status === 'STOPPING') {
    throw new Error(`VM ${vmName} in ${zone} is being deleted. Retry the request after its deletion.`);
  }
  return { outcome: status === 'PENDING' ? 'PENDING' : 'CREATED', instanceId };
}

type FailedInsertion = { readonly request: VmRequest; readonly source: BootSource; readonly fault: ComputeFault };

/** Throws if the fault is transient: the message is redelivered, and the same request retried. */
function toFailure({ defaults }: ComputeEngine, { request, source, fault }: FailedInsertion): CreateOutcome {
  const { zone, machineType, vmName } = request;
  const { projectId, serviceAccount } = defaults;
  const failure = classifyFault(fault, {
    projectId,
    zone,
    machineType,
    source: Object.values(source).join(),
    serviceAccount,
    rights: request,
  });
  if (failure === null) {
    throw new Error(`Compute Engine did not create ${vmName}: ${fault.evidence.join(' ')}`);
  }
  return { outcome: 'FAILED', failure };
}

function unknownRuntime({ machineImage }: VmRequest, { images }: ComputeEngine): CreateOutcome {
  const available = Object.keys(images).join(', ') || 'none';
  const message = `This deployment has no image for the runtime ${machineImage} (available: ${available}). Choose one of these, or add it to runtime_images and run terraform apply.`;
  return { outcome: 'FAILED', failure: { cause: causeOf('CONFIGURATION_REFUSED', message), zonesAvailable: [] } };
}
