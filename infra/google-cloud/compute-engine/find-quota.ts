import { z } from 'zod';
import type { QuotaLimit } from '#shared/domain/event.ts';

/** `errorDetails[].quotaInfo` of a failed operation (Compute API, "globalOperations"). */
export const quotaInfoSchema = z.object({
  metricName: z.string().nullish(),
  limit: z.number().nullish(),
  dimensions: z.record(z.string(), z.string()).nullish(),
});

/** "Quota 'GPUS_ALL_REGIONS' exceeded.  Limit: 0.0 globally.", "… Limit: 24.0 in region us-west1." */
const SENTENCE = /Quota '(\w+)' exceeded\.\s+Limit: (\d+(?:\.\d+)?) (globally|in region)/g;

/**
 * The quota that an error is about; null where it names none. Of several the smallest: one of nothing decides.
 * The sentence is believed before the details, for it has the metric's name as the console has it.
 */
export function findQuota(message: string, infos: readonly z.infer<typeof quotaInfoSchema>[]): QuotaLimit | null {
  const said = [...message.matchAll(SENTENCE)].map(([, metric = '', limit, where]): QuotaLimit => {
    return { metric, limit: Number(limit), scope: where === 'globally' ? 'PROJECT' : 'REGION' };
  });
  const quotas = said.length > 0 ? said : infos.flatMap(toQuota);
  return quotas.reduce<QuotaLimit | null>(
    (least, quota) => (least && least.limit <= quota.limit ? least : quota),
    null,
  );
}

function toQuota({ metricName, limit, dimensions }: z.infer<typeof quotaInfoSchema>): readonly QuotaLimit[] {
  if (typeof metricName !== 'string' || typeof limit !== 'number') {
    return [];
  }
  return [{ metric: metricName, limit, scope: dimensions?.region === undefined ? 'PROJECT' : 'REGION' }];
}
