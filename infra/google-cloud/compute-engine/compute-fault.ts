import { z } from 'zod';
import { findQuota, quotaInfoSchema } from '#infra/google-cloud/compute-engine/find-quota.ts';
import type { QuotaLimit } from '#shared/domain/event.ts';

/**
 * One form for both ways in which Compute Engine says no: a request that it refuses (the client throws) and an
 * operation that failed (the client does not throw).
 */
export type ComputeFault = {
  /** 0 where the answer had none. */
  readonly httpStatus: number;
  /** The operation's error codes (`QUOTA_EXCEEDED`), or the request's reasons (`quotaExceeded`) where they are told. */
  readonly codes: readonly string[];
  readonly message: string;
  /** What the error itself recommends (`errorInfo.metadatas.zonesAvailable`). */
  readonly zonesAvailable: readonly string[];
  /** The quota that was exceeded, where the error says which. */
  readonly quota: QuotaLimit | null;
  /** Codes and texts as they came, for operators. */
  readonly evidence: readonly string[];
};

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

/** What the client library throws: gRPC's code is in `code`, HTTP's beside it. */
const requestErrorSchema = z.object({
  message: z.string(),
  httpStatusCode: z.coerce.number().optional(),
  reason: z.string().nullish(),
  errorInfoMetadata: z.record(z.string(), z.string()).nullish(),
});

/** The fault of an operation that is done; null where it succeeded. */
export function faultOfOperation(operation: unknown): ComputeFault | null {
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

/** The fault of a request that was refused; null where the error is none of Compute Engine's. */
export function faultOfRequest(error: unknown): ComputeFault | null {
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
