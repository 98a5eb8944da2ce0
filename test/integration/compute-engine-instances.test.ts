import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { vmRequest } from '../contract/vm-provider.contract.ts';
import { PLACE } from '../support/contract/vm-cloud-under-test.ts';
import { BODY, openComputeEngineForAllTests, ZONE } from '../support/embedded/compute-engine-requests.ts';

const { compute, call, insert } = openComputeEngineForAllTests();

describe('instances of the Compute Engine emulator', () => {
  it('are created by an operation and have Compute Engine’s representation', async () => {
    const operation = await insert({ labels: { team: 'vision' }, scheduling: { provisioningModel: 'SPOT' } });
    const base = `${compute().origin}/compute/v1/projects/p`;
    expect(operation).toMatchObject({
      status: 'DONE',
      progress: 100,
      zone: `${base}${ZONE}`,
      targetLink: `${base}${ZONE}/instances/vm-1`,
      selfLink: `${base}${ZONE}/operations/${operation.name}`,
    });
    const { json } = await call(`${ZONE}/instances/vm-1`);
    expect(json).toMatchObject({
      kind: 'compute#instance',
      id: operation.targetId,
      name: 'vm-1',
      status: 'RUNNING',
      zone: `${base}${ZONE}`,
      machineType: `${base}${ZONE}/machineTypes/n1-standard-4`,
      labels: { team: 'vision' },
      scheduling: { provisioningModel: 'SPOT', preemptible: true, automaticRestart: false },
      metadata: { items: BODY.metadata.items },
      networkInterfaces: [{ name: 'nic0' }],
    });
  });

  it('are Spot VMs if they are asked for by the name that these had before', async () => {
    await insert({ scheduling: { preemptible: true } });
    const { json } = await call(`${ZONE}/instances/vm-1`);
    expect(json).toMatchObject({ scheduling: { provisioningModel: 'SPOT', preemptible: true } });
  });

  it('include those created by the embedded provider, with Dropforge’s labels', async () => {
    const request = { ...vmRequest(PLACE, 'Own'), labels: { team: 'vision' } };
    const created = await compute()
      .cloud.vms()
      .create({ ...request, vmName: 'df-own-a1-master-0' });
    const { json } = await call(`${ZONE}/instances/df-own-a1-master-0`);
    expect(json).toMatchObject({
      id: created.outcome === 'CREATED' ? created.instanceId : '',
      labels: { team: 'vision', 'managed-by': 'dropforge', 'dropforge-job': '-own', 'dropforge-attempt': '1' },
    });
  });

  it('requested twice with one request id are one operation', async () => {
    const query = `?requestId=${randomUUID()}`;
    const operations = [await insert({}, query), await insert({}, query)];
    expect(operations[1]).toEqual(operations[0]);
  });

  it('fail with a stockout in a finished operation', async () => {
    compute().cloud.vms().setStockout(PLACE.zone, true);
    const operation = await insert({
      guestAccelerators: [{ acceleratorType: 'nvidia-l4', acceleratorCount: 1 }],
      scheduling: { onHostMaintenance: 'TERMINATE' },
    });
    compute().cloud.vms().setStockout(PLACE.zone, false);
    expect(operation).toMatchObject({
      status: 'DONE',
      httpErrorStatusCode: 503,
      httpErrorMessage: 'SERVICE UNAVAILABLE',
      error: {
        errors: [
          {
            code: 'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS',
            message: expect.stringContaining("'(resource type:compute)'"),
            errorDetails: [
              { help: { links: [{ url: 'https://cloud.google.com/compute/docs/resource-error' }] } },
              { localizedMessage: { locale: 'en-US' } },
              {
                errorInfo: {
                  reason: 'stockout',
                  domain: 'compute.googleapis.com',
                  metadatas: { vmType: 'n1-standard-4', attachment: 'nvidia-l4:1', zonesAvailable: 'local1-b' },
                },
              },
            ],
          },
        ],
      },
    });
    expect((await call(`${ZONE}/instances/vm-1`)).status).toBe(404);
  });

  it.each(
    [
      [400, 'invalid', "'resource.name': 'Not_A_Name'", { name: 'Not_A_Name' }],
      [
        400,
        'invalid',
        "'resource.metadata.items' is too large",
        { metadata: { items: [{ key: 'k', value: 'x'.repeat(262_145) }] } },
      ],
      [400, 'invalid', 'Boot disk must be specified', { sourceMachineImage: undefined }],
      [
        400,
        'invalid',
        "'resource.machineType': 'x/none'. The referenced resource does not exist",
        { machineType: 'x/none' },
      ],
      [
        400,
        'badRequest',
        'pd-standard disk type cannot be used by c3-standard-4 machine type.',
        { machineType: 'c3-standard-4', disks: [{ initializeParams: { diskType: 'zones/z/diskTypes/pd-standard' } }] },
      ],
      [400, 'invalid', "'resource.labels': 'Team=x'", { labels: { Team: 'x' } }],
      [400, 'invalid', "'resource.labels.team'", { labels: { team: 3 } }],
      [400, 'invalid', 'FLEX_START requires maxRunDuration', { scheduling: { provisioningModel: 'FLEX_START' } }],
      [400, 'invalid', 'Automatic restart', { scheduling: { provisioningModel: 'SPOT', automaticRestart: true } }],
      [
        400,
        'invalid',
        'do not support live migration',
        {
          guestAccelerators: [{ acceleratorType: 'nvidia-tesla-t4', acceleratorCount: 1 }],
          scheduling: { onHostMaintenance: 'MIGRATE' },
        },
      ],
      [400, 'invalid', 'do not support live migration', { machineType: 'g2-standard-4' }],
      [
        400,
        'invalid',
        'SPOT VMs must have',
        { scheduling: { provisioningModel: 'SPOT', onHostMaintenance: 'MIGRATE' } },
      ],
      [
        400,
        'invalid',
        'do not support onHostMaintenance=TERMINATE',
        { machineType: 'e2-standard-4', scheduling: { onHostMaintenance: 'TERMINATE' } },
      ],
      [400, 'invalid', '30 to 10368000 seconds', { scheduling: { maxRunDuration: { seconds: '5' } } }],
      [400, 'invalid', 'for SPOT only', { scheduling: { preemptionNoticeDuration: { seconds: 120 } } }],
      [404, 'notFound', "'projects/p/global/machineImages/none' was not found", { sourceMachineImage: 'none' }],
      [
        404,
        'notFound',
        "'projects/q/global/machineImages/python' was",
        { sourceMachineImage: 'projects/q/global/machineImages/python' },
      ],
    ].map(([status, reason, message, change]) => ({ status, reason, message, change })),
  )('are rejected with $status: $message', async ({ status, reason, message, change }) => {
    const rejected = await call(`${ZONE}/instances`, { body: { ...BODY, ...(change as object) } });
    expect(rejected).toMatchObject({
      status,
      json: {
        error: {
          code: status,
          errors: [{ reason, domain: 'global' }],
          message: expect.stringContaining(String(message)),
        },
      },
    });
  });

  it('with a name in use are rejected with 409, also while the first is being created', async () => {
    const responses = await Promise.all([1, 2].map(() => call(`${ZONE}/instances`, { body: BODY })));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 409]);
    const rejected = responses.find(({ status }) => status === 409)?.json;
    expect(rejected).toMatchObject({
      error: {
        message: `The resource 'projects/p${ZONE}/instances/vm-1' already exists`,
        errors: [{ reason: 'alreadyExists' }],
      },
    });
    await expect.poll(async () => (await call(`${ZONE}/instances/vm-1`)).json.status).toBe('RUNNING');
  });

  it('with the same name in one batch are created once', async () => {
    const body = JSON.stringify(BODY);
    const part = `--b\r\nContent-Type: application/http\r\n\r\nPOST /compute/v1/projects/p${ZONE}/instances HTTP/1.1\r\n\r\n${body}\r\n`;
    const response = await fetch(`${compute().origin}/batch/compute/v1`, {
      method: 'POST',
      headers: { 'content-type': 'multipart/mixed; boundary=b' },
      body: `${part}${part}--b--\r\n`,
    });
    expect((await response.text()).match(/HTTP\/1\.1 \d+/g)?.sort()).toEqual(['HTTP/1.1 200', 'HTTP/1.1 409']);
  });

  it('are listed by name, and by the filters that Dropforge and gcloud send', async () => {
    await insert({ name: 'vm-b', labels: { team: 'b' } });
    await insert({ name: 'vm-a', labels: { team: 'a' } });
    const list = async (filter?: string) => {
      const query = filter === undefined ? '' : `?filter=${encodeURIComponent(filter)}`;
      const { json } = await call(`${ZONE}/instances${query}`);
      return ((json.items ?? []) as { name: string }[]).map(({ name }) => name);
    };
    expect(await list()).toEqual(['vm-a', 'vm-b']);
    expect(await list('labels.team = b')).toEqual(['vm-b']);
    expect(await list('(name eq ".*\\bvm\\-a\\b.*")(status ne STOPPING)')).toEqual(['vm-a']);
    const { json } = await call(`${ZONE}/instances?filter=${encodeURIComponent('name eq none')}`);
    expect(json).not.toHaveProperty('items');
  });

  it.each(['filter=name', 'filter=name!=x'])('are not listed by %s', async (query) => {
    expect((await call(`${ZONE}/instances?${query}`)).status).toBe(400);
    expect((await call(`/aggregated/instances?${query}`)).status).toBe(400);
  });
});
