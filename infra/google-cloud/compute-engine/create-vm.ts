import { randomUUID } from 'node:crypto';
import type { InstancesClient, ZoneOperationsClient } from '@google-cloud/compute';
import { z } from 'zod';
import {
  type BootSource,
  listBootSources,
  type RuntimeImages,
} from '#infra/google-cloud/compute-engine/boot-source.ts';
import { refusalOfFault } from '#infra/google-cloud/compute-engine/classify-fault.ts';
import {
  type ComputeFault,
  faultOfOperation,
  faultOfRequest,
} from '#infra/google-cloud/compute-engine/compute-fault.ts';
import { requestIdOf, toInsertRequest, type VmPlace } from '#infra/google-cloud/compute-engine/instance-request.ts';
import { findInstance, type NamedVm } from '#infra/google-cloud/compute-engine/read-instance.ts';
import { causeOf } from '#shared/domain/cause.ts';
import type { CreateOutcome, VmRequest } from '#shared/ports/vm-provider.ts';

/** Where VMs are made, and of what. */
export type ComputeEngine = {
  readonly instances: InstancesClient;
  readonly operations: ZoneOperationsClient;
  readonly place: VmPlace;
  readonly images: RuntimeImages;
};

/** `wait` answers after two minutes at the latest (API docs, "zoneOperations.wait"), and a function has nine. */
const WAITS_COUNT_MAX = 3;

const CONFLICT = 409;

const operationSchema = z.object({ name: z.string(), status: z.string() });
const madeSchema = z.object({ targetId: z.coerce.string().regex(/^\d+$/) });

/**
 * Makes a VM, or says why not. Of several copies of a machine image the next one is taken when Compute Engine refuses
 * the pace for one, and the custom image when it does for all; where a VM begins among them follows from its name, so
 * that a repeated request begins at the same one.
 */
export async function createVm(engine: ComputeEngine, request: VmRequest): Promise<CreateOutcome> {
  const turn = Number.parseInt(requestIdOf(request.vmName).slice(0, 8), 16);
  let outcome: CreateOutcome | undefined;
  for (const source of listBootSources(engine.images, request, turn)) {
    outcome = await createFrom(engine, request, source);
    if (outcome.outcome !== 'FAILED' || outcome.failure.cause.code !== 'RATE_LIMITED') {
      return outcome;
    }
  }
  return outcome ?? refuseRuntime(request, engine);
}

async function createFrom(engine: ComputeEngine, request: VmRequest, source: BootSource): Promise<CreateOutcome> {
  const made = await insert(engine, request, source).catch(faultOrThrow);
  if ('outcome' in made) {
    return made;
  }
  const own = isConflict(made) ? await findOwn(engine, request, made) : undefined;
  return own ?? refuse(engine, { request, source, fault: made });
}

function faultOrThrow(error: unknown): ComputeFault {
  const fault = faultOfRequest(error);
  if (fault === null) {
    throw error;
  }
  return fault;
}

/** The name is taken: said at once, or by the operation when two insertions have met. */
function isConflict({ httpStatus, codes }: ComputeFault): boolean {
  return httpStatus === CONFLICT || codes.includes('RESOURCE_ALREADY_EXISTS');
}

type Made = Exclude<CreateOutcome, { outcome: 'FAILED' }>;

/**
 * The VM, or what Compute Engine has against it. A first answer that is done already is that of an earlier request:
 * where its VM is gone again, or there was no room at that time, the VM is asked for anew, under another request id.
 * Should two do so at once, Compute Engine gives the name once.
 */
async function insert(engine: ComputeEngine, request: VmRequest, source: BootSource): Promise<Made | ComputeFault> {
  const wanted = toInsertRequest(request, engine.place, source);
  const [met] = await engine.instances.insert(wanted);
  if (operationSchema.parse(met.latestResponse).status !== 'DONE') {
    return settle(engine, request, met.latestResponse);
  }
  const found = faultOfOperation(met.latestResponse) === null ? await findNamed(engine, request) : undefined;
  if (found !== undefined && isOf(found, request)) {
    return toMade(found, request);
  }
  const [anew] = await engine.instances.insert({ ...wanted, requestId: randomUUID() });
  return settle(engine, request, anew.latestResponse);
}

/**
 * Waits for the end of the insertion. A request that may wait for capacity is looked after meanwhile: whether its
 * operation ends when the VM is PENDING or when it is RUNNING is nowhere said, and two hours are not waited for here.
 */
async function settle(engine: ComputeEngine, request: VmRequest, started: unknown): Promise<Made | ComputeFault> {
  const { operations, place } = engine;
  const { zone, capacityWaitSeconds } = request;
  let operation = started;
  for (let waits = 0; ; waits += 1) {
    const found = capacityWaitSeconds === null ? undefined : await findNamed(engine, request);
    if (found?.status === 'PENDING' && isOf(found, request)) {
      return toMade(found, request);
    }
    const { name, status } = operationSchema.parse(operation);
    if (status === 'DONE') {
      return faultOfOperation(operation) ?? { outcome: 'CREATED', instanceId: madeSchema.parse(operation).targetId };
    }
    if (waits === WAITS_COUNT_MAX) {
      throw new Error(`Operation ${name} in ${zone} is not done yet; the same request will find it again.`);
    }
    [operation] = await operations.wait({ project: place.projectId, zone, operation: name });
  }
}

function findNamed({ instances, place }: ComputeEngine, request: VmRequest): Promise<NamedVm | undefined> {
  return findInstance({ instances, projectId: place.projectId }, request);
}

function isOf({ owner }: NamedVm, { jobId, attempt }: VmRequest): boolean {
  return owner?.jobId === jobId && owner.attempt === attempt;
}

/** The VM that has this name, if it is this job's; a stranger's is never taken over. */
async function findOwn(
  engine: ComputeEngine,
  request: VmRequest,
  { message }: ComputeFault,
): Promise<Made | undefined> {
  const found = await findNamed(engine, request);
  if (found === undefined) {
    // Its disk may be, for a moment longer.
    throw new Error(`VM ${request.vmName} in ${request.zone} was just removed (${message}). Ask for it again.`);
  }
  return isOf(found, request) ? toMade(found, request) : undefined;
}

/** A VM that is about to give its name up is none that was made. */
function toMade({ instanceId, status }: NamedVm, { vmName, zone }: VmRequest): Made {
  if (status === 'STOPPING') {
    throw new Error(`VM ${vmName} in ${zone} is just being removed. Ask for it again when it is gone.`);
  }
  return { outcome: status === 'PENDING' ? 'PENDING' : 'CREATED', instanceId };
}

type Refused = { readonly request: VmRequest; readonly source: BootSource; readonly fault: ComputeFault };

/** A fault that passes is thrown: the message comes again, and with it the same request. */
function refuse({ place }: ComputeEngine, { request, source, fault }: Refused): CreateOutcome {
  const { zone, machineType, vmName } = request;
  const { projectId, serviceAccount } = place;
  const failure = refusalOfFault(fault, {
    projectId,
    zone,
    machineType,
    source: Object.values(source).join(),
    serviceAccount,
  });
  if (failure === null) {
    throw new Error(`Compute Engine did not make ${vmName}: ${fault.evidence.join(' ')}`);
  }
  return { outcome: 'FAILED', failure };
}

function refuseRuntime({ machineImage }: VmRequest, { images }: ComputeEngine): CreateOutcome {
  const known = Object.keys(images).join(', ') || 'none at all';
  const message = `This deployment has no image for the runtime ${machineImage}; it has ${known}. Choose one of them, or add it to runtime_images and run terraform apply.`;
  return { outcome: 'FAILED', failure: { cause: causeOf('CONFIGURATION_REFUSED', message), zonesAvailable: [] } };
}
