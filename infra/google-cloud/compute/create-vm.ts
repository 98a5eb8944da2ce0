import { randomUUID } from 'node:crypto';
import type { InstancesClient, ZoneOperationsClient } from '@google-cloud/compute';
import { z } from 'zod';
import { type BootSource, chooseBootSource, type RuntimeImages } from '#infra/google-cloud/compute/boot-source.ts';
import { type ComputeFault, faultOfOperation, faultOfRequest } from '#infra/google-cloud/compute/compute-fault.ts';
import { requestIdOf, toInsertRequest, type VmPlace } from '#infra/google-cloud/compute/instance-request.ts';
import { refusalOfFault } from '#infra/google-cloud/compute/refusal-of-fault.ts';
import { readLabels } from '#infra/google-cloud/compute/vm-labels.ts';
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

const NOT_FOUND = 404;
const CONFLICT = 409;

const operationSchema = z.object({ name: z.string(), status: z.string() });
const madeSchema = z.object({ targetId: z.coerce.string().regex(/^\d+$/) });

const instanceSchema = z.object({
  id: z.coerce.string(),
  status: z.string(),
  labels: z.record(z.string(), z.string()).nullish(),
});

/** A VM in one of these is about to give its name up. */
const ENDING = ['PENDING_STOP', 'STOPPING', 'DEPROVISIONING'];

/**
 * Makes a VM, or says why not. Of several copies of a machine image the next one is taken when Compute Engine refuses
 * the pace for one; where a VM begins among them follows from its name, so that a repeated request begins at the same
 * one.
 */
export async function createVm(engine: ComputeEngine, request: VmRequest): Promise<CreateOutcome> {
  const copies = engine.images[request.machineImage]?.machineImages.length ?? 0;
  const first = Number.parseInt(requestIdOf(request.vmName).slice(0, 8), 16);
  for (let turn = first; ; turn += 1) {
    const source = chooseBootSource(engine.images, request, turn);
    if (source === undefined) {
      return refuseRuntime(request, engine);
    }
    const outcome = await createFrom(engine, request, source);
    const isLast = turn - first + 1 >= copies || 'image' in source;
    if (outcome.outcome === 'CREATED' || outcome.refusal.cause.code !== 'RATE_LIMITED' || isLast) {
      return outcome;
    }
  }
}

async function createFrom(engine: ComputeEngine, request: VmRequest, source: BootSource): Promise<CreateOutcome> {
  try {
    const made = await insert(engine, request, source);
    return typeof made === 'string'
      ? { outcome: 'CREATED', instanceId: made }
      : refuse(engine, { request, source, fault: made });
  } catch (error) {
    const fault = faultOfRequest(error);
    if (fault === null) {
      throw error;
    }
    const instanceId = fault.httpStatus === CONFLICT ? await findOwn(engine, request) : undefined;
    return instanceId === undefined ? refuse(engine, { request, source, fault }) : { outcome: 'CREATED', instanceId };
  }
}

/**
 * The instance id, or what Compute Engine has against it. A first answer that is done already is that of an earlier
 * request: where its VM is gone again, or there was no room at that time, the VM is asked for anew, under another
 * request id. Should two do so at once, Compute Engine gives the name once.
 */
async function insert(engine: ComputeEngine, request: VmRequest, source: BootSource): Promise<string | ComputeFault> {
  const wanted = toInsertRequest(request, engine.place, source);
  const [met] = await engine.instances.insert(wanted);
  if (operationSchema.parse(met.latestResponse).status !== 'DONE') {
    return settle(engine, request.zone, met.latestResponse);
  }
  const found = faultOfOperation(met.latestResponse) === null ? await findNamed(engine, request) : null;
  if (found?.isOwn === true) {
    return assertStaying(found, request);
  }
  const [anew] = await engine.instances.insert({ ...wanted, requestId: randomUUID() });
  return settle(engine, request.zone, anew.latestResponse);
}

async function settle(engine: ComputeEngine, zone: string, started: unknown): Promise<string | ComputeFault> {
  const done = await untilDone(engine, zone, started);
  return faultOfOperation(done) ?? madeSchema.parse(done).targetId;
}

async function untilDone({ operations, place }: ComputeEngine, zone: string, started: unknown): Promise<unknown> {
  let operation = started;
  for (let waits = 0; operationSchema.parse(operation).status !== 'DONE'; waits += 1) {
    const { name } = operationSchema.parse(operation);
    if (waits === WAITS_COUNT_MAX) {
      throw new Error(`Operation ${name} in ${zone} is not done yet; the same request will find it again.`);
    }
    [operation] = await operations.wait({ project: place.projectId, zone, operation: name });
  }
  return operation;
}

type Found = { readonly id: string; readonly isOwn: boolean; readonly isEnding: boolean };

/** Who has this name; null where nobody has. */
async function findNamed({ instances, place }: ComputeEngine, request: VmRequest): Promise<Found | null> {
  const { vmName, zone, jobId, attempt } = request;
  try {
    const [instance] = await instances.get({ project: place.projectId, zone, instance: vmName });
    const { id, status, labels } = instanceSchema.parse(instance);
    const own = readLabels(labels ?? {});
    return { id, isOwn: own?.jobId === jobId && own.attempt === attempt, isEnding: ENDING.includes(status) };
  } catch (error) {
    if (faultOfRequest(error)?.httpStatus === NOT_FOUND) {
      return null;
    }
    throw error;
  }
}

/** The id of the VM that has this name, if it is this job's; a stranger's is never taken over. */
async function findOwn(engine: ComputeEngine, request: VmRequest): Promise<string | undefined> {
  const found = await findNamed(engine, request);
  if (found === null) {
    throw new Error(`VM ${request.vmName} in ${request.zone} was just removed. Ask for it again.`);
  }
  return found.isOwn ? assertStaying(found, request) : undefined;
}

function assertStaying({ id, isEnding }: Found, { vmName, zone }: VmRequest): string {
  if (isEnding) {
    throw new Error(`VM ${vmName} in ${zone} is just being removed. Ask for it again when it is gone.`);
  }
  return id;
}

type Refused = { readonly request: VmRequest; readonly source: BootSource; readonly fault: ComputeFault };

/** A fault that passes is thrown: the message comes again, and with it the same request. */
function refuse({ place }: ComputeEngine, { request, source, fault }: Refused): CreateOutcome {
  const { zone, machineType, vmName } = request;
  const { projectId, serviceAccount } = place;
  const refusal = refusalOfFault(fault, {
    projectId,
    zone,
    machineType,
    source: Object.values(source).join(),
    serviceAccount,
  });
  if (refusal === null) {
    throw new Error(`Compute Engine did not make ${vmName}: ${fault.evidence.join(' ')}`);
  }
  return { outcome: 'REFUSED', refusal };
}

function refuseRuntime({ machineImage }: VmRequest, { images }: ComputeEngine): CreateOutcome {
  const known = Object.keys(images).join(', ') || 'none at all';
  const message = `This deployment has no image for the runtime ${machineImage}; it has ${known}. Choose one of them, or add it to runtime_images and run terraform apply.`;
  return { outcome: 'REFUSED', refusal: { cause: causeOf('CONFIGURATION_REFUSED', message), zonesAvailable: [] } };
}
