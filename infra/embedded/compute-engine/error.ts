import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { OperationFailure } from '#infra/embedded/compute-engine/operation-store.ts';
import type { QuotaLimit, VmCreateFailure } from '#shared/domain/event.ts';
import { regionOf } from '#shared/domain/job.ts';
import type { VmRequest } from '#shared/ports/vm-provider.ts';

/** Errors that Compute Engine returns immediately (docs, "Troubleshooting API errors"): reason and HTTP status. */
const REASONS = {
  invalid: { status: 400 },
  badRequest: { status: 400 },
  notFound: { status: 404 },
  alreadyExists: { status: 409 },
  uploadTooLarge: { status: 413 },
  backendError: { status: 500 },
  internalError: { status: 500 },
} as const satisfies Readonly<Record<string, { readonly status: ContentfulStatusCode }>>;

export type ComputeReason = keyof typeof REASONS;

/** An error for a handler to throw; the error handler renders it in Google's format. */
export function computeError(reason: ComputeReason, message: string): HTTPException {
  return new HTTPException(REASONS[reason].status, { message, cause: reason });
}

/** `path` is the part after `projects/P/`, or empty for the project itself. */
export function notFoundError(projectId: string, path: string): HTTPException {
  const resource = path === '' ? `projects/${projectId}` : `projects/${projectId}/${path}`;
  return computeError('notFound', `The resource '${resource}' was not found`);
}

/** Renders errors as responses. Internal errors are reported to the operator too, client errors are not. */
export function createErrorHandler(reportError: (error: Error) => void) {
  return (error: Error, context: Context): Response => {
    const reason = reasonOf(error);
    if (reason === 'backendError') {
      reportError(error);
    }
    const { status } = REASONS[reason];
    const message =
      reason === 'backendError'
        ? 'The embedded Compute Engine failed. Try again; the reason is in the log of the embedded cloud.'
        : error.message;
    return context.json({ error: { code: status, message, errors: [{ message, domain: 'global', reason }] } }, status);
  };
}

function reasonOf(error: Error): ComputeReason {
  if (!(error instanceof HTTPException)) {
    return 'backendError';
  }
  if (typeof error.cause === 'string' && Object.hasOwn(REASONS, error.cause)) {
    return error.cause as ComputeReason;
  }
  return error.status === REASONS.uploadTooLarge.status ? 'uploadTooLarge' : 'invalid';
}

const HELP = {
  help: {
    links: [
      {
        description: 'Troubleshooting documentation',
        url: 'https://cloud.google.com/compute/docs/resource-error',
      },
    ],
  },
};

/**
 * A create failure as the failed operation that Compute Engine returns: a stockout as
 * ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS (docs, "Troubleshooting resource availability errors"), a quota as
 * QUOTA_EXCEEDED, everything else as an invalid request.
 */
export function operationFailureOf(failure: VmCreateFailure, request: VmRequest): OperationFailure {
  const { cause, zonesAvailable, quota } = failure;
  if (quota !== undefined) {
    return quotaFailureOf(cause.message, quota, request);
  }
  if (cause.code !== 'STOCKOUT') {
    return {
      httpStatus: 400,
      httpMessage: 'BAD REQUEST',
      errors: [{ code: 'INVALID_USAGE', message: cause.message }],
    };
  }
  const { zone, machineType, accelerator } = request;
  const attached = accelerator === null ? '' : ` with ${accelerator.count} ${accelerator.type} accelerator(s)`;
  const localized =
    `A ${machineType} VM instance${attached} is currently unavailable in the ${zone} zone. ` +
    'Consider trying your request in another zone, or try it again later.';
  return {
    httpStatus: 503,
    httpMessage: 'SERVICE UNAVAILABLE',
    errors: [
      {
        code: 'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS',
        message: cause.message,
        errorDetails: [
          HELP,
          { localizedMessage: { locale: 'en-US', message: localized } },
          {
            errorInfo: {
              reason: 'stockout',
              domain: 'compute.googleapis.com',
              metadatas: {
                vmType: machineType,
                attachment: accelerator === null ? '' : `${accelerator.type}:${accelerator.count}`,
                zonesAvailable: zonesAvailable.join(','),
              },
            },
          },
        ],
      },
    ],
  };
}

/** `quotaInfo` as in Compute Engine's errors: metric and limit in its own spelling, and the dimensions of the limit. */
function quotaFailureOf(message: string, quota: QuotaLimit, { zone }: VmRequest): OperationFailure {
  const { metric, family, limit, scope } = quota;
  const familyKey = metric.includes('GPU') ? 'gpu_family' : 'vm_family';
  const quotaInfo = {
    metricName: `compute.googleapis.com/${metric.toLowerCase()}`,
    limitName: `${metric.replaceAll('_', '-')}-per-project${scope === 'REGION' ? '-region' : ''}`,
    dimensions: {
      ...(scope === 'REGION' ? { region: regionOf(zone) } : { global: 'global' }),
      ...(family !== null && { [familyKey]: family }),
    },
    limit,
  };
  return {
    httpStatus: 403,
    httpMessage: 'FORBIDDEN',
    errors: [{ code: 'QUOTA_EXCEEDED', message, errorDetails: [{ quotaInfo }] }],
  };
}
