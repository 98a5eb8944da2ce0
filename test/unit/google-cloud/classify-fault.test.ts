import { describe, expect, it } from 'vitest';
import { classifyFault, type FaultContext } from '#infra/google-cloud/compute-engine/classify-fault.ts';
import {
  type ComputeFault,
  parseOperationFault,
  parseRequestFault,
} from '#infra/google-cloud/compute-engine/compute-fault.ts';
import { FAILURES, GLOBAL_QUOTA, NO_CAPACITY, STOCKOUT } from '../../support/google-cloud/operation-failures.ts';

const CONTEXT = {
  projectId: 'p',
  zone: 'us-central1-a',
  machineType: 'g2-standard-8',
  source: 'dropforge-2-11',
  serviceAccount: 'vm@p.iam.gserviceaccount.com',
  rights: { serviceAccount: null, subnetwork: null, networkAttachment: null, kmsKeyName: null },
};

const KEY = 'projects/keys/locations/us-central1/keyRings/r/cryptoKeys/disks';
const SUBNETWORK = 'projects/host/regions/us-central1/subnetworks/gpu';
const ATTACHMENT = 'projects/data/regions/us-central1/networkAttachments/lake';
const RIGHTS = {
  serviceAccount: 'trainer@p.iam.gserviceaccount.com',
  subnetwork: SUBNETWORK,
  networkAttachment: ATTACHMENT,
  kmsKeyName: KEY,
};

/** An error of the client library: gRPC code, HTTP status, and of the details only google.rpc.ErrorInfo. */
function requestError(httpStatusCode: number, message: string, more: object = {}): Error {
  return Object.assign(new Error(message), { httpStatusCode, ...more });
}

function failedOperation(httpErrorStatusCode: number, error: object): object {
  return { name: 'operation-1', status: 'DONE', httpErrorStatusCode, error: { errors: [error] } };
}

function classify(fault: ComputeFault | null, context: FaultContext = CONTEXT) {
  if (fault === null) {
    throw new Error('Not a fault.');
  }
  return classifyFault(fault, context);
}

type Refusal = {
  readonly what: string;
  readonly httpStatus: number;
  readonly error: object;
  /** The line of its message if the job names it, and if the deployment does. */
  readonly line: string;
  readonly own: string;
};

describe('a failed operation', () => {
  it.each(FAILURES.map(([name, httpStatus, error, code]) => ({ name, httpStatus, error, code })))(
    'with $name has the expected cause',
    ({ httpStatus, error, code }) => {
      expect(classify(parseOperationFault(failedOperation(httpStatus, error)))?.cause.code).toBe(code);
    },
  );

  it.each([
    ['an internal error', 500, { code: 'INTERNAL_ERROR', message: 'Internal error. Please try again.' }],
    ['a resource that is not ready', 400, { code: 'RESOURCE_NOT_READY', message: "The resource 'd' is not ready" }],
    ['a resource in use', 400, { code: 'RESOURCE_IN_USE_BY_ANOTHER_RESOURCE', message: 'The disk is in use.' }],
  ])('with %s is transient', (_, httpStatus, error) => {
    expect(classify(parseOperationFault(failedOperation(httpStatus, error)))).toBeNull();
  });

  it.each<Refusal>([
    {
      what: 'account that provision may not attach',
      httpStatus: 400,
      error: {
        code: 'SERVICE_ACCOUNT_ACCESS_DENIED',
        message:
          "The user does not have access to service account 'trainer@p.iam.gserviceaccount.com'.  User: 'dropforge-provision@p.iam.gserviceaccount.com'.  Ask a project owner to grant you the iam.serviceAccountUser role on the service account",
      },
      line: 'job_accounts = ["trainer@p.iam.gserviceaccount.com"]',
      own: 'The function provision may not attach vm@p.iam.gserviceaccount.com: run terraform apply.',
    },
    {
      what: "key that Compute Engine's agent may not use",
      httpStatus: 400,
      error: {
        code: 'kmsPermissionDenied',
        message: `Cloud KMS error when using key ${KEY}: Permission 'cloudkms.cryptoKeyVersions.useToEncrypt' denied on resource '${KEY}' (or it may not exist).`,
      },
      line: `job_keys = ["${KEY}"]`,
      own: 'encryption = { kms_key_name = … }',
    },
    {
      what: 'subnetwork of another project',
      httpStatus: 403,
      error: { code: 'forbidden', message: `Required 'compute.subnetworks.use' permission for '${SUBNETWORK}'` },
      line: `job_networks = { … = { subnetworks = { us-central1 = "${SUBNETWORK}" } } }`,
      own: 'roles/compute.networkUser',
    },
    {
      what: 'network attachment that does not accept the project',
      httpStatus: 400,
      error: { code: 'INVALID_USAGE', message: `The network attachment '${ATTACHMENT}' does not accept the project.` },
      line: `network_attachments = ["${ATTACHMENT}"]`,
      own: 'accept the project p',
    },
  ])(
    'for a VM with an $what names the line of Terraform, for the job and for the deployment',
    ({ httpStatus, error, line, own }) => {
      const fault = parseOperationFault(failedOperation(httpStatus, error));
      expect(classify(fault, { ...CONTEXT, rights: RIGHTS })?.cause).toMatchObject({
        code: 'CONFIGURATION_REFUSED',
        message: expect.stringContaining(line),
      });
      expect(classify(fault)?.cause.message).toContain(own);
    },
  );

  it('for a subnetwork of a project that is not a Shared VPC host of this one says to attach it', () => {
    const message = `Invalid value for field 'resource.networkInterfaces[0].subnetwork': '${SUBNETWORK}'. Cross-project references for this resource are not allowed.`;
    const fault = parseRequestFault(requestError(400, message));
    expect(classify(fault, { ...CONTEXT, rights: RIGHTS })?.cause).toMatchObject({
      code: 'CONFIGURATION_REFUSED',
      message: expect.stringMatching(/gcloud compute shared-vpc associated-projects add p --host-project=\S+$/),
    });
  });

  it.each([
    [
      "Required 'compute.images.useReadOnly' permission for 'projects/images/global/images/tf'",
      'roles/compute.imageUser',
    ],
    [
      "Required 'compute.machineImages.useReadOnly' permission for 'projects/images/global/machineImages/tf-a'",
      'a role with compute.machineImages.useReadOnly',
    ],
  ])('for an image of another project says what to grant there: %s', (message, granted) => {
    const source = message.split("'")[3] ?? '';
    expect(classify(parseRequestFault(requestError(403, message)), { ...CONTEXT, source })?.cause).toMatchObject({
      code: 'CONFIGURATION_REFUSED',
      message: expect.stringContaining(
        `Grant ${granted} in the project images to the account of provision (terraform output service_accounts).`,
      ),
    });
  });

  it('for an account of another project names the organization policy of that project and the grant', () => {
    const message =
      "Invalid value for field 'resource.serviceAccounts[0]': constraints/iam.disableCrossProjectServiceAccountUsage is enforced.";
    const serviceAccount = 'trainer@lab.iam.gserviceaccount.com';
    const fault = parseRequestFault(requestError(400, message));
    expect(classify(fault, { ...CONTEXT, rights: { ...RIGHTS, serviceAccount } })?.cause).toMatchObject({
      code: 'CONFIGURATION_REFUSED',
      message: expect.stringMatching(
        /The project lab must not enforce iam\.disableCrossProjectServiceAccountUsage.*docs\/rights\.md/,
      ),
    });
  });

  it('for a disabled key says to enable it', () => {
    const message = `Cloud KMS error when using key ${KEY}/cryptoKeyVersions/1: ${KEY}/cryptoKeyVersions/1 is not enabled, current state is: DISABLED.`;
    const fault = parseOperationFault(failedOperation(400, { code: 'kmsKeyDisabled', message }));
    expect(classify(fault)?.cause.message).toMatch(/Enable the primary version of the key\.$/);
  });

  it('that a service perimeter denied has its unique id', () => {
    const message =
      "Request is prohibited by organization's policy. vpcServiceControlsUniqueIdentifier: eYhDkfYCu-dOCjuj8X4A";
    expect(classify(parseRequestFault(requestError(403, message)))?.cause).toMatchObject({
      code: 'PERIMETER_DENIED',
      message: expect.stringMatching(
        /^VPC Service Controls denied the creation of the VM in us-central1-a, with the unique id eYhDkfYCu-dOCjuj8X4A\./,
      ),
    });
  });

  it('returns the recommended zones, and the original messages as evidence', () => {
    const failure = classify(parseOperationFault(failedOperation(503, STOCKOUT)));
    expect(failure?.zonesAvailable).toEqual(['us-central1-b', 'us-central1-c']);
    expect(failure?.cause.message).toBe('us-central1-a currently has no capacity for g2-standard-8.');
    expect(failure?.cause.evidence).toEqual([
      `ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS: ${NO_CAPACITY}`,
      'A g2-standard-8 VM instance with 1 nvidia-l4 is unavailable.',
    ]);
  });

  it('names the quota and links to the page for an increase', () => {
    const failure = classify(parseOperationFault(failedOperation(403, GLOBAL_QUOTA)));
    expect(failure?.cause.message).toContain("Quota 'GPUS_ALL_REGIONS' exceeded.");
    expect(failure?.cause.message).toContain('https://console.cloud.google.com/iam-admin/quotas?project=p');
    expect(failure?.cause.evidence.join()).toContain('compute.googleapis.com/gpus_all_regions');
  });

  it.each([
    {
      name: 'zero in all regions',
      error: GLOBAL_QUOTA,
      quota: { metric: 'GPUS_ALL_REGIONS', family: null, limit: 0, scope: 'PROJECT' },
    },
    {
      name: 'a limit in one region',
      error: { code: 'QUOTA_EXCEEDED', message: "Quota 'CPUS' exceeded. Limit: 24.0 in region us-west1." },
      quota: { metric: 'CPUS', family: null, limit: 24, scope: 'REGION' },
    },
    {
      name: 'zero in one region, from the details',
      error: {
        code: 'QUOTA_EXCEEDED',
        message: 'Too much.',
        errorDetails: [
          { quotaInfo: { metricName: 'compute.googleapis.com/cpus', limit: 0, dimensions: { region: 'r' } } },
        ],
      },
      quota: { metric: 'compute.googleapis.com/cpus', family: null, limit: 0, scope: 'REGION' },
    },
    {
      name: 'of one family of GPUs',
      error: {
        code: 'QUOTA_EXCEEDED',
        message: "Quota 'GPUS_PER_GPU_FAMILY' exceeded.  Limit: 8.0 in region us-central1.",
        errorDetails: [
          {
            quotaInfo: {
              metricName: 'compute.googleapis.com/gpus_per_gpu_family',
              limitName: 'GPUS-PER-GPU-FAMILY-per-project-region',
              dimensions: { region: 'us-central1', gpu_family: 'NVIDIA_H100' },
              limit: 8,
            },
          },
        ],
      },
      quota: { metric: 'GPUS_PER_GPU_FAMILY', family: 'NVIDIA_H100', limit: 8, scope: 'REGION' },
    },
    {
      name: 'of one zone, which rules out no other',
      error: {
        code: 'QUOTA_EXCEEDED',
        message: 'Too much.',
        errorDetails: [
          { quotaInfo: { metricName: 'compute.googleapis.com/local_ssd', limit: 0, dimensions: { zone: 'r-a' } } },
        ],
      },
      quota: undefined,
    },
    { name: 'unknown quota', error: { code: 'QUOTA_EXCEEDED', message: 'Too much.' }, quota: undefined },
  ])('returns the limit of the quota: $name', ({ error, quota }) => {
    expect(classify(parseOperationFault(failedOperation(403, error)))?.quota).toEqual(quota);
  });

  it('without an error is not a fault', () => {
    expect(parseOperationFault({ name: 'operation-1', status: 'DONE' })).toBeNull();
    expect(parseOperationFault({ name: 'operation-1', status: 'DONE', error: null })).toBeNull();
  });
});

describe('a rejected request', () => {
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
    ['403 for the rate limit', requestError(403, 'Rate Limit Exceeded'), 'RATE_LIMITED'],
    [
      '403 for the rate limit, by its reason',
      requestError(403, 'Slow down.', { reason: 'RATE_LIMIT_EXCEEDED', domain: 'googleapis.com' }),
      'RATE_LIMITED',
    ],
    [
      '403 for the rate limit of mutations',
      requestError(403, "Quota exceeded for quota metric 'Heavy-weight mutation requests' of 'compute.googleapis.com'"),
      'RATE_LIMITED',
    ],
    ['429', requestError(429, 'Too many requests.'), 'RATE_LIMITED'],
    [
      '403 for a disabled API',
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
      '409 for a name in use',
      requestError(409, "The resource 'projects/p/zones/z/instances/i' already exists", { code: 10 }),
      'CONFIGURATION_REFUSED',
    ],
    [
      '412',
      requestError(412, 'Supplied fingerprint does not match current metadata fingerprint.'),
      'CONFIGURATION_REFUSED',
    ],
    ['503 for capacity', requestError(503, 'No capacity.', { reason: 'insufficientCapacity' }), 'STOCKOUT'],
  ])('with %s has the expected cause', (_, error, code) => {
    expect(classify(parseRequestFault(error))?.cause.code).toBe(code);
  });

  it('returns the limit of the quota', () => {
    const error = requestError(403, "Quota 'NVIDIA_L4_GPUS' exceeded.  Limit: 0.0 in region us-central1.");
    expect(classify(parseRequestFault(error))?.quota).toEqual({
      metric: 'NVIDIA_L4_GPUS',
      family: null,
      limit: 0,
      scope: 'REGION',
    });
  });

  it.each([
    ['500', requestError(500, 'Backend Error')],
    ['503', requestError(503, 'Service unavailable. Try again.')],
    [
      '400 for a resource that is not ready',
      requestError(400, "The resource 'projects/p/global/images/i' is not ready"),
    ],
  ])('with %s is transient', (_, error) => {
    expect(classify(parseRequestFault(error))).toBeNull();
  });

  it.each([
    [
      'enable the API',
      requestError(403, 'Compute Engine API has not been used in project 1.'),
      'gcloud services enable compute',
    ],
    [
      'link billing',
      requestError(403, 'This API method requires billing to be enabled.'),
      'gcloud billing projects link p',
    ],
    ['create the image', requestError(404, "'projects/p/global/images/i' was not found"), 'The image dropforge-2-11'],
    [
      'grant a role',
      requestError(403, "Required 'iam.serviceAccounts.actAs' permission"),
      'vm@p.iam.gserviceaccount.com',
    ],
  ])('explains how to %s', (_, error, command) => {
    expect(classify(parseRequestFault(error))?.cause.message).toContain(command);
  });

  it.each(['stockout', 'billing', 'rate-limit-exceeded', 'gpu-stockout'])(
    'is not classified by words in a job’s name: %s',
    (name) => {
      const message = `The resource 'projects/p/zones/z/instances/df-${name}-a1-master-0' already exists`;
      expect(classify(parseRequestFault(requestError(409, message)))?.cause).toMatchObject({
        code: 'CONFIGURATION_REFUSED',
        message: `${message}.`,
      });
    },
  );

  it('is null for errors without an HTTP status', () => {
    expect(parseRequestFault(new Error('socket hang up'))).toBeNull();
    expect(parseRequestFault('text')).toBeNull();
    expect(parseRequestFault(undefined)).toBeNull();
  });
});
