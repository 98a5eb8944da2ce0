import { describe, expect, it } from 'vitest';
import { refusalOfFault } from '#infra/google-cloud/compute-engine/classify-fault.ts';
import {
  type ComputeFault,
  faultOfOperation,
  faultOfRequest,
} from '#infra/google-cloud/compute-engine/compute-fault.ts';
import { FAILURES, GLOBAL_QUOTA, NO_ROOM, STOCKOUT } from '../../support/google-cloud/operation-failures.ts';

const ASKED = {
  projectId: 'p',
  zone: 'us-central1-a',
  machineType: 'g2-standard-8',
  source: 'dropforge-2-11',
  serviceAccount: 'vm@p.iam.gserviceaccount.com',
};

/** What the client library throws: gRPC's code, HTTP's, and of details only what google.rpc.ErrorInfo said. */
function requestError(httpStatusCode: number, message: string, more: object = {}): Error {
  return Object.assign(new Error(message), { httpStatusCode, ...more });
}

function failedOperation(httpErrorStatusCode: number, error: object): object {
  return { name: 'operation-1', status: 'DONE', httpErrorStatusCode, error: { errors: [error] } };
}

function judge(fault: ComputeFault | null) {
  if (fault === null) {
    throw new Error('That is no fault.');
  }
  return refusalOfFault(fault, ASKED);
}

describe('an operation that failed', () => {
  it.each(FAILURES.map(([name, httpStatus, error, code]) => ({ name, httpStatus, error, code })))(
    'for $name is refused as that',
    ({ httpStatus, error, code }) => {
      expect(judge(faultOfOperation(failedOperation(httpStatus, error)))?.cause.code).toBe(code);
    },
  );

  it.each([
    ['an internal error', 500, { code: 'INTERNAL_ERROR', message: 'Internal error. Please try again.' }],
    ['a resource that is not ready', 400, { code: 'RESOURCE_NOT_READY', message: "The resource 'd' is not ready" }],
    ['a resource in use', 400, { code: 'RESOURCE_IN_USE_BY_ANOTHER_RESOURCE', message: 'The disk is in use.' }],
  ])('for %s passes by itself', (_, httpStatus, error) => {
    expect(judge(faultOfOperation(failedOperation(httpStatus, error)))).toBeNull();
  });

  it('hands on the zones that it recommends, and what it said for operators', () => {
    const refusal = judge(faultOfOperation(failedOperation(503, STOCKOUT)));
    expect(refusal?.zonesAvailable).toEqual(['us-central1-b', 'us-central1-c']);
    expect(refusal?.cause.message).toBe('us-central1-a has no g2-standard-8 to give at the moment.');
    expect(refusal?.cause.evidence).toEqual([
      `ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS: ${NO_ROOM}`,
      'A g2-standard-8 VM instance with 1 nvidia-l4 is unavailable.',
    ]);
  });

  it('names the quota and where more is to be had', () => {
    const refusal = judge(faultOfOperation(failedOperation(403, GLOBAL_QUOTA)));
    expect(refusal?.cause.message).toContain("Quota 'GPUS_ALL_REGIONS' exceeded.");
    expect(refusal?.cause.message).toContain('https://console.cloud.google.com/iam-admin/quotas?project=p');
    expect(refusal?.cause.evidence.join()).toContain('compute.googleapis.com/gpus_all_regions');
  });

  it.each([
    {
      name: 'none in all regions',
      error: GLOBAL_QUOTA,
      quota: { metric: 'GPUS_ALL_REGIONS', limit: 0, scope: 'PROJECT' },
    },
    {
      name: 'some in one region',
      error: { code: 'QUOTA_EXCEEDED', message: "Quota 'CPUS' exceeded. Limit: 24.0 in region us-west1." },
      quota: { metric: 'CPUS', limit: 24, scope: 'REGION' },
    },
    {
      name: 'none in one region, by its details alone',
      error: {
        code: 'QUOTA_EXCEEDED',
        message: 'Too much.',
        errorDetails: [
          { quotaInfo: { metricName: 'compute.googleapis.com/cpus', limit: 0, dimensions: { region: 'r' } } },
        ],
      },
      quota: { metric: 'compute.googleapis.com/cpus', limit: 0, scope: 'REGION' },
    },
    { name: 'nobody knows what', error: { code: 'QUOTA_EXCEEDED', message: 'Too much.' }, quota: undefined },
  ])('says how much the quota allows: $name', ({ error, quota }) => {
    expect(judge(faultOfOperation(failedOperation(403, error)))?.quota).toEqual(quota);
  });

  it('is no fault when it is done without an error', () => {
    expect(faultOfOperation({ name: 'operation-1', status: 'DONE' })).toBeNull();
    expect(faultOfOperation({ name: 'operation-1', status: 'DONE', error: null })).toBeNull();
  });
});

describe('a request that was refused', () => {
  it.each([
    ['400 for a field', requestError(400, "Invalid value for field 'resource.name': 'A'."), 'CONFIGURATION_REFUSED'],
    ['401', requestError(401, 'Request had invalid authentication credentials.'), 'CONFIGURATION_REFUSED'],
    [
      '403 for a permission',
      requestError(403, "Required 'compute.instances.create' permission for 'projects/p/zones/z/instances/i'"),
      'CONFIGURATION_REFUSED',
    ],
    [
      '403 for a quota',
      requestError(403, "Quota 'NVIDIA_L4_GPUS' exceeded.  Limit: 1.0 in region r."),
      'QUOTA_EXCEEDED',
    ],
    ['403 for the pace', requestError(403, 'Rate Limit Exceeded'), 'RATE_LIMITED'],
    [
      '403 for the pace, by its reason',
      requestError(403, 'Slow down.', { reason: 'RATE_LIMIT_EXCEEDED', domain: 'googleapis.com' }),
      'RATE_LIMITED',
    ],
    [
      '403 for the pace of mutations',
      requestError(403, "Quota exceeded for quota metric 'Heavy-weight mutation requests' of 'compute.googleapis.com'"),
      'RATE_LIMITED',
    ],
    ['429', requestError(429, 'Too many requests.'), 'RATE_LIMITED'],
    [
      '403 for an API that is off',
      requestError(403, 'Compute Engine API has not been used in project 1 before or it is disabled.'),
      'CONFIGURATION_REFUSED',
    ],
    [
      '404 for a machine image',
      requestError(404, "The resource 'projects/p/global/machineImages/m' was not found"),
      'CONFIGURATION_REFUSED',
    ],
    [
      '400 for a machine type',
      requestError(
        400,
        "Invalid value for field 'resource.machineType': 'zones/z/machineTypes/g2'. The referenced resource does not exist.",
      ),
      'STOCKOUT',
    ],
    ['404 for the zone', requestError(404, "The resource 'projects/p/zones/z' was not found"), 'CONFIGURATION_REFUSED'],
    [
      '409 for the name of another',
      requestError(409, "The resource 'projects/p/zones/z/instances/i' already exists", { code: 10 }),
      'CONFIGURATION_REFUSED',
    ],
    [
      '412',
      requestError(412, 'Supplied fingerprint does not match current metadata fingerprint.'),
      'CONFIGURATION_REFUSED',
    ],
    ['503 for capacity', requestError(503, 'No room.', { reason: 'insufficientCapacity' }), 'STOCKOUT'],
  ])('with %s is refused as what it means', (_, error, code) => {
    expect(judge(faultOfRequest(error))?.cause.code).toBe(code);
  });

  it('says how much the quota allows', () => {
    const error = requestError(403, "Quota 'NVIDIA_L4_GPUS' exceeded.  Limit: 0.0 in region us-central1.");
    expect(judge(faultOfRequest(error))?.quota).toEqual({ metric: 'NVIDIA_L4_GPUS', limit: 0, scope: 'REGION' });
  });

  it.each([
    ['500', requestError(500, 'Backend Error')],
    ['503', requestError(503, 'Service unavailable. Try again.')],
    ['400 for what is not ready', requestError(400, "The resource 'projects/p/global/images/i' is not ready")],
  ])('with %s passes by itself', (_, error) => {
    expect(judge(faultOfRequest(error))).toBeNull();
  });

  it.each([
    [
      'switch the API on',
      requestError(403, 'Compute Engine API has not been used in project 1.'),
      'gcloud services enable compute',
    ],
    [
      'link billing',
      requestError(403, 'This API method requires billing to be enabled.'),
      'gcloud billing projects link p',
    ],
    ['make the image', requestError(404, "'projects/p/global/images/i' was not found"), 'The image dropforge-2-11'],
    [
      'grant a role',
      requestError(403, "Required 'iam.serviceAccounts.actAs' permission"),
      'vm@p.iam.gserviceaccount.com',
    ],
  ])('says how to %s', (_, error, command) => {
    expect(judge(faultOfRequest(error))?.cause.message).toContain(command);
  });

  it.each(['stockout', 'billing', 'rate-limit-exceeded', 'gpu-stockout'])(
    'is not taken for what the job happens to be called: %s',
    (name) => {
      const message = `The resource 'projects/p/zones/z/instances/df-${name}-a1-master-0' already exists`;
      expect(judge(faultOfRequest(requestError(409, message)))?.cause).toMatchObject({
        code: 'CONFIGURATION_REFUSED',
        message: `${message}.`,
      });
    },
  );

  it('is none of Compute Engine where the error has no HTTP status', () => {
    expect(faultOfRequest(new Error('socket hang up'))).toBeNull();
    expect(faultOfRequest('text')).toBeNull();
    expect(faultOfRequest(undefined)).toBeNull();
  });
});
