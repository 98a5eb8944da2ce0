import type { EmbeddedVmProvider } from '#infra/embedded/compute-engine/vms/process-vm-provider.ts';
import { quotaDemandOf } from '#shared/catalog/quota-demand.ts';
import { causeOf } from '#shared/domain/cause.ts';
import type { QuotaLimit, VmCreateFailure } from '#shared/domain/event.ts';
import { regionOf } from '#shared/domain/job.ts';
import type { CreateOutcome, VmRequest } from '#shared/ports/vm-provider.ts';

/** A quota of the embedded cloud: in one region, or in all regions together. */
export type Quota = {
  /** The name in error messages: `NVIDIA_T4_GPUS`. */
  readonly metric: string;
  /** For metrics with a limit per family: `NVIDIA_H100`. */
  readonly family?: string | undefined;
  readonly region?: string | undefined;
  readonly limit: number;
};

/**
 * The VMs, of which no more can be created than the quotas allow. Checked against all VMs that exist or are being
 * created; PREEMPTIBLE quotas count Spot and Flex-start VMs only, the others all VMs.
 */
export function withQuotas(vms: EmbeddedVmProvider, quotas: readonly Quota[]): EmbeddedVmProvider {
  const creating = new Set<VmRequest>();

  function findShortage(requests: readonly VmRequest[]): VmCreateFailure | undefined {
    const existing = vms.listRecords().filter(({ status }) => status !== 'TERMINATED');
    const others = [...existing.map((record) => record.request), ...creating];
    const used = others.filter((other) => !requests.some((request) => isSameVm(other, request)));
    const exceeded = quotas.find((quota) => isExceeded(quota, requests, used));
    return exceeded && failureOf(exceeded);
  }

  return {
    ...vms,
    findShortage: async (requests) => findShortage(requests) ?? vms.findShortage(requests),
    async create(request): Promise<CreateOutcome> {
      const exists = vms.listRecords().some((record) => isSameVm(record.request, request));
      const failure = exists ? undefined : findShortage([request]);
      if (failure !== undefined) {
        return { outcome: 'FAILED', failure };
      }
      creating.add(request);
      try {
        return await vms.create(request);
      } finally {
        creating.delete(request);
      }
    },
  };
}

function isExceeded(quota: Quota, requests: readonly VmRequest[], used: readonly VmRequest[]): boolean {
  const amountOf = (vms: readonly VmRequest[]) =>
    vms.reduce((sum, one) => sum + (applies(quota, one) ? amountOfQuota(quota, one) : 0), 0);
  return amountOf(requests) > 0 && amountOf(used) + amountOf(requests) > quota.limit;
}

function applies({ metric, region }: Quota, { zone, provisioningModel }: VmRequest): boolean {
  const isCounted = !metric.startsWith('PREEMPTIBLE_') || provisioningModel !== 'STANDARD';
  return isCounted && (region === undefined || region === regionOf(zone));
}

function amountOfQuota(quota: Quota, request: VmRequest): number {
  return quotaDemandOf([{ ...request, count: 1 }], limitOf(quota)) ?? 0;
}

function isSameVm(one: VmRequest, other: VmRequest): boolean {
  return one.vmName === other.vmName && one.zone === other.zone;
}

function limitOf({ metric, family, region, limit }: Quota): QuotaLimit {
  return { metric, family: family ?? null, limit, scope: region === undefined ? 'PROJECT' : 'REGION' };
}

/** The message is Compute Engine's (docs, "Troubleshooting quota errors"). */
function failureOf(quota: Quota): VmCreateFailure {
  const { metric, region, limit } = quota;
  const where = region === undefined ? 'globally' : `in region ${region}`;
  const message = `Quota '${metric}' exceeded.  Limit: ${limit.toFixed(1)} ${where}.`;
  return { cause: causeOf('QUOTA_EXCEEDED', message), zonesAvailable: [], quota: limitOf(quota) };
}
