import type { OperationFailure } from '#infra/embedded/compute-engine/vms/operation-table.ts';
import type { VmCreateFailure } from '#shared/domain/event.ts';
import type { VmRequest } from '#shared/ports/vm-provider.ts';

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
 * The fleet's refusal as the failed operation that Compute Engine answers with: a stockout as
 * ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS (docs, "Troubleshooting resource availability errors"), all else as a request
 * that cannot be met.
 */
export function failureOf({ cause, zonesAvailable }: VmCreateFailure, request: VmRequest): OperationFailure {
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
