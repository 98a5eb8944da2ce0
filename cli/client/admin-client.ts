import * as z from 'zod';
import { requestJson } from '#cli/client/request-json.ts';

const statusSchema = z.object({
  projectId: z.string(),
  vms: z.array(
    z.object({
      vmName: z.string(),
      zone: z.string(),
      instanceId: z.string(),
      jobId: z.string(),
      attempt: z.int(),
      status: z.string(),
    }),
  ),
  queues: z.array(z.object({ topic: z.string(), waiting: z.int(), deadLetters: z.int() })),
  /** Disk space used by the buckets, and the part of it used by noncurrent (replaced or deleted) versions. */
  storage: z.object({ sizeBytes: z.number(), noncurrentBytes: z.number() }),
});

const vmSchema = z.object({ directory: z.string(), instanceId: z.string() });

export type CloudStatus = z.infer<typeof statusSchema>;
export type VmAction = 'preempt' | 'maintain' | 'reset' | 'hostError';

/** Client of the embedded cloud's admin endpoint: status and fault injection. */
export type AdminClient = {
  readStatus(): Promise<CloudStatus>;
  /** The folder of a VM on this machine. */
  findVm(vmName: string): Promise<{ readonly directory: string; readonly instanceId: string }>;
  injectVmFault(vmName: string, action: VmAction): Promise<void>;
  setStockout(zone: string, isOut: boolean): Promise<void>;
  setOutage(zone: string, isUnreachable: boolean): Promise<void>;
};

export function createAdminClient(admin: string, signal: AbortSignal): AdminClient {
  const post = async (path: string) => {
    await requestJson(`${admin}${path}`, z.unknown(), { method: 'POST', signal });
  };
  return {
    readStatus: () => requestJson(`${admin}/status`, statusSchema, { signal }),
    findVm: (vmName) => requestJson(`${admin}/vms/${encodeURIComponent(vmName)}`, vmSchema, { signal }),
    injectVmFault: (vmName, action) => post(`/vms/${encodeURIComponent(vmName)}:${action}`),
    setStockout: (zone, isOut) => post(`/zones/${encodeURIComponent(zone)}:${isOut ? 'stockout' : 'restock'}`),
    setOutage: (zone, isUnreachable) =>
      post(`/zones/${encodeURIComponent(zone)}:${isUnreachable ? 'outage' : 'recover'}`),
  };
}
