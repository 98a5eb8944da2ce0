import { Hono } from 'hono';
import type { EmbeddedObjectStore } from '#infra/embedded/cloud-storage/store/directory-object-store.ts';
import type { EmbeddedVmProvider } from '#infra/embedded/compute-engine/vms/process-vm-provider.ts';
import type { MessageQueue } from '#infra/embedded/pubsub/message-queue.ts';

export type AdminPorts = {
  readonly projectId: string;
  readonly vms: EmbeddedVmProvider;
  readonly queue: MessageQueue;
  readonly objects: Pick<EmbeddedObjectStore, 'measure'>;
};

/** What only an embedded cloud has: a look at its VMs and queues, and the accidents that can be played through on it. */
export function createAdminServer({ projectId, vms, queue, objects }: AdminPorts): Hono {
  const door = new Hono();

  door.get('/status', async (context) => {
    const listed = await vms.list();
    const shown = listed.map(({ vmName, zone, instanceId, jobId, attempt, status }) => ({
      vmName,
      zone,
      instanceId,
      jobId,
      attempt,
      status,
    }));
    return context.json({ projectId, vms: shown, queues: queue.countWaiting(), storage: objects.measure() });
  });

  door.get('/vms/:name/serial-port', async (context) => {
    const text = await vms.serialPort(context.req.param('name'));
    return text === undefined ? context.json(unknownVm(context.req.param('name')), 404) : context.text(text);
  });

  door.post('/vms/:target', async (context) => {
    const [name = '', verb] = context.req.param('target').split(':');
    const accidents: Readonly<Record<string, (vmName: string) => Promise<unknown>>> = {
      preempt: vms.preempt,
      reset: vms.reset,
      hostError: vms.hostError,
    };
    const accident = accidents[verb ?? ''];
    if (accident === undefined) {
      return context.json(failure(`A VM can be told preempt, reset or hostError, not ${verb}.`), 400);
    }
    return (await accident(name)) === undefined ? context.json(unknownVm(name), 404) : context.json({});
  });

  door.post('/zones/:target', (context) => {
    const [zone = '', verb] = context.req.param('target').split(':');
    if (verb !== 'stockout' && verb !== 'restock') {
      return context.json(failure(`A zone can be told stockout or restock, not ${verb}.`), 400);
    }
    return vms.setStockout(zone, verb === 'stockout')
      ? context.json({})
      : context.json(failure(`The embedded cloud has no zone ${zone}.`), 404);
  });

  return door;
}

function unknownVm(name: string) {
  return failure(`No VM ${name} is running. See them all with: dropforge status.`);
}

function failure(message: string) {
  return { error: { message } };
}
