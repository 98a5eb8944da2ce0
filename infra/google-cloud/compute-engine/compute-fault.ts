import * as z from 'zod';
import type { QuotaLimit } from '#shared/domain/event.ts';

/**
 * An error of Compute Engine, in one form for both ways in which it is returned: a rejected request (the client throws)
 * and a failed operation (the client does not throw).
 */
export type ComputeFault = {
  /** 0 if the response has none. */
  readonly httpStatus: number;
  /** The operation's error codes (`QUOTA_EXCEEDED`), or the request's reasons (`quotaExceeded`) if it has any. */
  readonly codes: readonly string[];
  readonly message: string;
  /** Zones that the error recommends (`errorInfo.metadatas.zonesAvailable`). */
  readonly zonesAvailable: readonly string[];
  /** The quota that was exceeded, if the error names it. */
  readonly quota: QuotaLimit | null;
  /** Codes and messages, unchanged, for operators. */
  readonly evidence: readonly string[];
};

/** `errorDetails[].quotaInfo` of a failed operation (Compute API, "globalOperations"). */
const quotaInfoSchema = z.object({
  metricName: z.string().nullish(),
  limit: z.number().nullish(),
  dimensions: z.record(z.string(), z.string()).nullish(),
});

type QuotaInfo = z.infer<typeof quotaInfoSchema>;

const detailSchema = z.object({
  errorInfo: z
    .object({ reason: z.string().nullish(), metadatas: z.record(z.string(), z.string()).nullish() })
    .nullish(),
  quotaInfo: quotaInfoSchema.nullish(),
  localizedMessage: z.object({ message: z.string().nullish() }).nullish(),
});

const operationErrorSchema = z.object({
  code: z.string().nullish(),
  message: z.string().nullish(),
  errorDetails: z.array(detailSchema).nullish(),
});

const operationSchema = z.object({
  status: z.union([z.string(), z.number()]).nullish(),
  httpErrorStatusCode: z.number().nullish(),
  error: z.object({ errors: z.array(operationErrorSchema).nullish() }).nullish(),
});

/** The error that the client library throws: `code` is the gRPC code, `httpStatusCode` the HTTP status. */
const requestErrorSchema = z.object({
  message: z.string(),
  httpStatusCode: z.coerce.number().optional(),
  reason: z.string().nullish(),
  errorInfoMetadata: z.record(z.string(), z.string()).nullish(),
});

/** The fault of a completed operation; null if it succeeded. */
export function parseOperationFault(operation: unknown): ComputeFault | null {
  const { error, httpErrorStatusCode } = operationSchema.parse(operation);
  const errors = error?.errors ?? [];
  if (errors.length === 0) {
    return null;
  }
  const details = errors.flatMap(({ errorDetails }) => errorDetails ?? []);
  const message = errors.map((failure) => failure.message ?? '').join(' ');
  return {
    httpStatus: httpErrorStatusCode ?? 0,
    codes: errors.flatMap(({ code }) => code ?? []).concat(details.flatMap(({ errorInfo }) => errorInfo?.reason ?? [])),
    message,
    zonesAvailable: details.flatMap(({ errorInfo }) => splitZones(errorInfo?.metadatas?.zonesAvailable)),
    quota: findQuota(
      message,
      details.flatMap(({ quotaInfo }) => quotaInfo ?? []),
    ),
    evidence: [
      ...errors.map((failure) => `${failure.code ?? 'error'}: ${failure.message ?? ''}`),
      ...details.flatMap(({ localizedMessage }) => localizedMessage?.message ?? []),
      ...details.flatMap(({ quotaInfo }) => (quotaInfo ? [JSON.stringify(quotaInfo)] : [])),
    ],
  };
}

/** The fault of a rejected request; null if the error is not a response of Compute Engine. */
export function parseRequestFault(error: unknown): ComputeFault | null {
  const parsed = requestErrorSchema.safeParse(error instanceof Error ? { ...error, message: error.message } : error);
  if (!parsed.success || parsed.data.httpStatusCode === undefined) {
    return null;
  }
  const { httpStatusCode, reason, message, errorInfoMetadata } = parsed.data;
  return {
    httpStatus: httpStatusCode,
    codes: reason ? [reason] : [],
    message,
    zonesAvailable: splitZones(errorInfoMetadata?.zonesAvailable),
    quota: findQuota(message, []),
    evidence: [`HTTP ${httpStatusCode}: ${message}`],
  };
}

function splitZones(text: string | undefined): readonly string[] {
  return (text ?? '').split(/[\s,]+/).filter((zone) => zone !== '');
}

/** "Quota 'GPUS_ALL_REGIONS' exceeded.  Limit: 0.0 globally.", "… Limit: 24.0 in region us-west1." */
const QUOTA_SENTENCE = /Quota '(\w+)' exceeded\.\s+Limit: (\d+(?:\.\d+)?) (globally|in region)/g;

/**
 * The quota that was exceeded; null if the error names none. If it names several, the one with the lowest limit. The
 * message takes precedence over the details, because it has the metric's name as shown in the console; only the details
 * name a family.
 */
function findQuota(message: string, infos: readonly QuotaInfo[]): QuotaLimit | null {
  const family = infos.flatMap((info) => familyOf(info) ?? [])[0] ?? null;
  const named = [...message.matchAll(QUOTA_SENTENCE)].map(([, metric = '', limit, scope]): QuotaLimit => {
    return { metric, family, limit: Number(limit), scope: scope === 'globally' ? 'PROJECT' : 'REGION' };
  });
  const quotas = named.length > 0 ? named : infos.flatMap(toQuota);
  return quotas.reduce<QuotaLimit | null>(
    (lowest, quota) => (lowest && lowest.limit <= quota.limit ? lowest : quota),
    null,
  );
}

function toQuota(info: QuotaInfo): readonly QuotaLimit[] {
  const { metricName, limit, dimensions } = info;
  if (typeof metricName !== 'string' || typeof limit !== 'number') {
    return [];
  }
  if (dimensions?.zone !== undefined) {
    // A quota of one zone: another zone is tried, as without the quota's limit.
    return [];
  }
  const scope = dimensions?.region === undefined ? 'PROJECT' : 'REGION';
  return [{ metric: metricName, family: familyOf(info), limit, scope }];
}

function familyOf({ dimensions }: QuotaInfo): string | null {
  return dimensions?.gpu_family ?? dimensions?.vm_family ?? null;
}
