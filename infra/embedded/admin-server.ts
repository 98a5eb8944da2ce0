import { Hono } from 'hono';
import type { EmbeddedObjectStore } from '#infra/embedded/cloud-storage/store/directory-object-store.ts';
import type { FaultyZones } from '#infra/embedded/compute-engine/vms/faulty-zones.ts';
import type { EmbeddedVmProvider } from '#infra/embedded/compute-engine/vms/process-vm-provider.ts';
import type { MessageQueue } from '#infra/embedded/pubsub/message-queue.ts';
import type { Logger } from '#shared/observability/logger.ts';
import { logDecision } from '#shared/use-cases/log-lines.ts';

export type AdminPorts = {
  readonly projectId: string;
  readonly vms: EmbeddedVmProvider;
  readonly outages: FaultyZones;
  readonly queue: MessageQueue;
  readonly objects: Pick<EmbeddedObjectStore, 'measure'>;
  readonly logger: Logger;
};

/** The admin API, which only an embedded cloud has: the state of VMs and queues, and fault injection. */
export function createAdminServer({ projectId, vms, outages, queue, objects, logger }: AdminPorts): Hono {
  const app = new Hono();
  app.get('/status', async (context) => {
    const listed = await vms.list();
    const shown = listed.map(({ vmName, zone, instanceId, jobId, attempt, status }) => ({
      vmName,
      zone,
      instanceId,
      jobId,
      attempt,
      status,
    }));
    return context.json({ projectId, vms: shown, queues: queue.countMessages(), storage: objects.measure() });
  });

  app.get('/vms/:name', (context) => {
    const vm = vms.locate(context.req.param('name'));
    return vm === undefined ? context.json(unknownVm(context.req.param('name')), 404) : context.json(vm);
  });

  app.get('/vms/:name/serial-port', async (context) => {
    const text = await vms.serialPort(context.req.param('name'));
    return text === undefined ? context.json(unknownVm(context.req.param('name')), 404) : context.text(text);
  });

  app.post('/vms/:target', async (context) => {
    const [name = '', verb] = context.req.param('target').split(':');
    const { preempt, maintain, reset, hostError } = vms;
    const faults = new Map(Object.entries({ preempt, maintain, reset, hostError }));
    const injectFault = faults.get(verb ?? '');
    if (injectFault === undefined) {
      return context.json(errorBody(`Unknown VM action ${verb}. Use preempt, maintain, reset or hostError.`), 400);
    }
    const jobId = (await vms.list()).find(({ vmName }) => vmName === name)?.jobId;
    if ((await injectFault(name)) === undefined) {
      return context.json(unknownVm(name), 404);
    }
    logDecision(logger, { decision: 'FAULT_INJECTED', message: 'fault injected', jobId, vmName: name, fault: verb });
    return context.json({});
  });

  app.post('/zones/:target', (context) => {
    const [zone = '', verb] = context.req.param('target').split(':');
    const faults = new Map<string, () => void>([
      ['stockout', () => vms.setStockout(zone, true)],
      ['restock', () => vms.setStockout(zone, false)],
      ['outage', () => outages.set(zone, true)],
      ['recover', () => outages.set(zone, false)],
    ]);
    const injectFault = faults.get(verb ?? '');
    if (injectFault === undefined) {
      return context.json(errorBody(`Unknown zone action ${verb}. Use ${[...faults.keys()].join(', ')}.`), 400);
    }
    if (!vms.listZones().includes(zone)) {
      return context.json(errorBody(`Zone ${zone} does not exist in this embedded cloud. ${zonesToUse(vms)}`), 404);
    }
    injectFault();
    return context.json({});
  });

  return app;
}

const ZONES_SHOWN_MAX = 10;

function zonesToUse(vms: AdminPorts['vms']): string {
  const names = vms.listZones();
  const rest = names.length - ZONES_SHOWN_MAX;
  return `Use one of its zones: ${names.slice(0, ZONES_SHOWN_MAX).join(', ')}${rest > 0 ? ` or ${rest} others` : ''}.`;
}

function unknownVm(name: string) {
  return errorBody(`No VM ${name} is running. List the VMs with: dropforge status.`);
}

function errorBody(message: string) {
  return { error: { message } };
}
