import type { CauseCode } from '#shared/domain/cause.ts';

export const NO_CAPACITY =
  "The zone 'projects/p/zones/us-central1-a' does not have enough resources available to fulfill the request, '(resource type:compute)'.";

export const STOCKOUT = {
  code: 'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS',
  message: NO_CAPACITY,
  errorDetails: [
    {
      help: {
        links: [{ description: 'Troubleshooting', url: 'https://cloud.google.com/compute/docs/resource-error' }],
      },
    },
    { localizedMessage: { locale: 'en-US', message: 'A g2-standard-8 VM instance with 1 nvidia-l4 is unavailable.' } },
    {
      errorInfo: {
        reason: 'stockout',
        domain: 'compute.googleapis.com',
        metadatas: {
          vmType: 'g2-standard-8',
          attachment: 'nvidia-l4:1',
          zonesAvailable: 'us-central1-b, us-central1-c',
        },
      },
    },
  ],
};

export const GLOBAL_QUOTA = {
  code: 'QUOTA_EXCEEDED',
  message: "Quota 'GPUS_ALL_REGIONS' exceeded.  Limit: 0.0 globally.",
  errorDetails: [
    {
      quotaInfo: {
        metricName: 'compute.googleapis.com/gpus_all_regions',
        limitName: 'GPUS-ALL-REGIONS-per-project',
        dimensions: { global: 'global' },
        limit: 0,
      },
    },
  ],
};

/** Errors of failed operations, and the expected cause of each. */
export const FAILURES: readonly (readonly [name: string, httpStatus: number, error: object, code: CauseCode])[] = [
  ['a stockout with details', 503, STOCKOUT, 'STOCKOUT'],
  ['a stockout without details', 503, { code: 'ZONE_RESOURCE_POOL_EXHAUSTED', message: NO_CAPACITY }, 'STOCKOUT'],
  ['a regional stockout', 503, { code: 'REGION_RESOURCE_POOL_EXHAUSTED', message: 'No capacity.' }, 'STOCKOUT'],
  ['a stockout of a resource pool', 0, { code: 'RESOURCE_POOL_EXHAUSTED', message: 'No capacity.' }, 'STOCKOUT'],
  ['a stockout of GPUs', 0, { code: 'GPU_STOCKOUT', message: 'No GPUs.' }, 'STOCKOUT'],
  ['a preempted Spot VM', 400, { code: 'UNSUPPORTED_OPERATION', message: 'Instance was preempted.' }, 'STOCKOUT'],
  ['a global quota', 403, GLOBAL_QUOTA, 'QUOTA_EXCEEDED'],
  [
    'a regional quota',
    403,
    { code: 'QUOTA_EXCEEDED', message: "Quota 'CPUS' exceeded. Limit: 24.0 in region us-west1." },
    'QUOTA_EXCEEDED',
  ],
  [
    'the rate limit of a machine image',
    403,
    {
      code: 'RESOURCE_OPERATION_RATE_EXCEEDED',
      message: "Operation rate exceeded for resource 'projects/p/global/machineImages/m'. Too frequent operations.",
    },
    'RATE_LIMITED',
  ],
  [
    'a GPU type that the zone does not offer',
    404,
    {
      code: 'RESOURCE_NOT_FOUND',
      message: "The resource 'projects/p/zones/us-central1-a/acceleratorTypes/nvidia-l4' was not found",
    },
    'STOCKOUT',
  ],
  ['an invalid field', 400, { code: 'INVALID_FIELD_VALUE', message: 'Invalid value.' }, 'CONFIGURATION_REFUSED'],
  ['an invalid usage', 400, { code: 'INVALID_USAGE', message: 'Does not go.' }, 'CONFIGURATION_REFUSED'],
  ['a missing permission', 0, { code: 'PERMISSIONS_ERROR', message: 'Required permission.' }, 'CONFIGURATION_REFUSED'],
];
