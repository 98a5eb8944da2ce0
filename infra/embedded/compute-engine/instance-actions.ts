import { type Context, Hono } from 'hono';
import { z } from 'zod';
import { computeError, operationFailureOf } from '#infra/embedded/compute-engine/error.ts';
import { metadataOfBody } from '#infra/embedded/compute-engine/insert.ts';
import { findLabelsProblem, ownershipOf } from '#infra/embedded/compute-engine/labels.ts';
import type { OperationRecord } from '#infra/embedded/compute-engine/operation-store.ts';
import {
  type ComputePorts,
  projectContextOf,
  readJsonBody,
  recordOf,
  requestIdOf,
} from '#infra/embedded/compute-engine/request.ts';
import {
  fingerprintOf,
  isFingerprint,
  labelsOf,
  metadataOf,
  toOperationResource,
} from '#infra/embedded/compute-engine/resource.ts';
import type { VmDescription } from '#infra/embedded/compute-engine/vms/admin.ts';
import { findMetadataProblem } from '#infra/embedded/compute-engine/vms/admission.ts';
import type { VmRecord } from '#infra/embedded/compute-engine/vms/table.ts';
import type { VmCreateFailure } from '#shared/domain/event.ts';

const metadataBodySchema = z.object({
  fingerprint: z.string().optional(),
  items: z.array(z.object({ key: z.string(), value: z.string() })).default([]),
});

const labelsBodySchema = z.object({
  labels: z.record(z.string(), z.string()).default({}),
  labelFingerprint: z.string({ error: 'labelFingerprint is required' }),
});

type Power = 'stop' | 'start' | 'reset';

/** The actions on existing VMs; each starts an operation (Compute API, "instances"). */
const ACTIONS: Readonly<Record<string, (context: Context, ports: ComputePorts) => Promise<OperationRecord>>> = {
  setMetadata,
  setLabels,
  stop: async (context, ports) => switchPower(context, ports, 'stop'),
  start: async (context, ports) => switchPower(context, ports, 'start'),
  async reset(context, ports) {
    const { request, status } = recordOf(context, ports);
    if (status !== 'RUNNING') {
      const name = `projects/${ports.identity.projectId}/zones/${request.zone}/instances/${request.vmName}`;
      throw computeError('resourceNotReady', `The resource '${name}' is not ready`);
    }
    return switchPower(context, ports, 'reset');
  },
};

/** Not applicable to a VM that is a process: its memory cannot be saved, and it has no such properties. */
const NOT_SUPPORTED = ['suspend', 'resume', 'setMachineType', 'setScheduling', 'setTags', 'attachDisk', 'detachDisk'];

export function createInstanceActionRoutes(ports: ComputePorts): Hono {
  const routes = new Hono();
  for (const [name, act] of Object.entries(ACTIONS)) {
    routes.post(`/zones/:zone/instances/:name/${name}`, async (context) =>
      context.json(toOperationResource(await act(context, ports), projectContextOf(context, ports))),
    );
  }
  for (const name of NOT_SUPPORTED) {
    routes.post(`/zones/:zone/instances/:name/${name}`, (context) => {
      recordOf(context, ports);
      throw computeError(
        'methodNotAllowed',
        `The embedded cloud does not support ${name}. It supports ${Object.keys(ACTIONS).join(', ')} and delete.`,
      );
    });
  }
  return routes;
}

function switchPower(context: Context, ports: ComputePorts, type: Power): OperationRecord {
  const { vms, operations } = ports;
  const { request, instanceId } = recordOf(context, ports);
  const { zone, vmName } = request;
  const requestId = requestIdOf(context);
  const work: Readonly<Record<Power, () => Promise<VmCreateFailure | undefined>>> = {
    stop: async () => void (await vms.stop(request)),
    start: () => vms.start(request),
    reset: async () => void (await vms.reset(vmName, zone)),
  };
  const earlier = operations.findByRequestId(zone, requestId);
  return (
    earlier ??
    operations.start({ type, zone, vmName, targetId: instanceId, requestId }, async () => {
      const failure = await work[type]();
      return failure ? { failure: operationFailureOf(failure, request) } : { targetId: instanceId };
    })
  );
}

async function setMetadata(context: Context, ports: ComputePorts): Promise<OperationRecord> {
  const body = parse(metadataBodySchema, await readJsonBody(context), 'metadata');
  const record = recordOf(context, ports);
  assertFingerprint(body.fingerprint, metadataOf(record).fingerprint, 'metadata');
  const metadata = metadataOfBody({ metadata: body });
  const problem = findMetadataProblem(metadata);
  if (problem !== undefined) {
    throw computeError('invalid', `Value for field 'metadata.items' is too large: ${problem}`);
  }
  return describe(ports, record, { type: 'setMetadata', part: { metadata } });
}

async function setLabels(context: Context, ports: ComputePorts): Promise<OperationRecord> {
  const { labels, labelFingerprint } = parse(labelsBodySchema, await readJsonBody(context), 'labels');
  const record = recordOf(context, ports);
  assertFingerprint(labelFingerprint, fingerprintOf(labelsOf(record)), 'labels');
  const problem = findLabelsProblem(labels);
  if (problem !== undefined) {
    throw computeError('invalid', `Invalid value for field 'labels': ${problem}`);
  }
  return describe(ports, record, { type: 'setLabels', part: ownershipOf(record.request.vmName, labels) });
}

type Change = { readonly type: 'setMetadata' | 'setLabels'; readonly part: VmDescription };

/** Applied synchronously: of two requests with the same fingerprint, only the first finds it current. */
function describe({ vms, operations }: ComputePorts, record: VmRecord, { type, part }: Change): OperationRecord {
  const { zone, vmName } = record.request;
  const targetId = record.instanceId;
  vms.describe(record.request, part);
  return operations.start({ type, zone, vmName, targetId, requestId: null }, async () => ({ targetId }));
}

function parse<T extends z.ZodType>(schema: T, body: unknown, field: string): z.output<T> {
  const parsed = schema.safeParse(body);
  if (!parsed.success) {
    throw computeError('invalid', `Invalid value for field '${field}': ${z.prettifyError(parsed.error)}`);
  }
  return parsed.data;
}

function assertFingerprint(given: string | undefined, current: string, what: string): void {
  if (given !== undefined && !isFingerprint(given, current)) {
    throw computeError('conditionNotMet', `Supplied fingerprint does not match current ${what} fingerprint.`);
  }
}
