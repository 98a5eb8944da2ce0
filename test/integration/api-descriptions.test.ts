import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type * as Compute from '@google-cloud/compute';
import type { v1 as Pubsub } from '@google-cloud/pubsub';
import { build } from 'esbuild';
import { GoogleAuth, PassThroughClient } from 'google-auth-library';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { closeServer, HOST, listen } from '#infra/embedded/http/server.ts';
import { toInsertRequest } from '#infra/google-cloud/compute-engine/instance-request.ts';
import { apiDescriptions } from '#infra/tools/bundle-functions/bundle-plugins.ts';
import { COMPUTE_CALLS, PUBSUB_CALLS, trimApiDescription } from '#infra/tools/bundle-functions/trim-api-description.ts';
import type { VmRequest } from '#shared/ports/vm-provider.ts';

type Clients = Pick<typeof Compute, 'InstancesClient' | 'ZoneOperationsClient'> &
  Pick<typeof Pubsub, 'PublisherClient'>;
type SentRequest = { readonly request: string; readonly body: string };

const SOURCE = [
  "export * from '@google-cloud/compute/build/src/v1/instances_client.js';",
  "export * from '@google-cloud/compute/build/src/v1/zone_operations_client.js';",
  "import { v1 } from '@google-cloud/pubsub';",
  'export const { PublisherClient } = v1;',
].join('\n');

const { resolve } = createRequire(import.meta.url);
const COMPUTE_DESCRIPTION = resolve('@google-cloud/compute').replace(/src\/index\.js$/, 'protos/protos.json');
const PUBSUB_DESCRIPTION = createRequire(resolve('@google-cloud/pubsub'))
  .resolve('@google-cloud/pubsub-api')
  .replace(/src\/index\.js$/, 'protos/protos.json');

const BUILD_MS_MAX = 60_000;

const vm: VmRequest = {
  role: 'worker',
  index: 3,
  vmName: 'df-digits-2-worker-3',
  zone: 'us-central1-a',
  jobId: 'Digits_2026',
  attempt: 2,
  machineType: 'n1-standard-8',
  accelerator: { type: 'nvidia-tesla-t4', count: 2 },
  provisioningModel: 'STANDARD',
  machineImage: '2.11',
  bootDiskGib: 200,
  bootDiskType: 'pd-balanced',
  reservation: { kind: 'SPECIFIC', names: ['projects/other/zones/us-central1-a/reservations/gpus'] },
  ...{ serviceAccount: null, subnetwork: null, networkAttachment: null, kmsKeyName: null },
  labels: { team: 'vision' },
  capacityWaitSeconds: null,
  maxRunSeconds: 86_400,
  metadata: { 'startup-script': '#!/bin/bash\n', 'dropforge-config': '{"ü":"✓"}' },
};
const defaults = {
  projectId: 'example',
  subnetwork: 'projects/example/regions/{region}/subnetworks/s',
  serviceAccount: 'vm@example.iam.gserviceaccount.com',
  networkTag: 'dropforge-vm',
  hasSecureBoot: false,
  hasShellAccess: false,
  diskKmsKey: null,
};

/** A response with all kinds of fields: nested messages, lists, maps, enums, int64, errors. */
const OPERATION = {
  id: '5077205474014399999',
  name: 'operation-1',
  status: 'DONE',
  targetId: '8077205474014399999',
  httpErrorStatusCode: 403,
  error: {
    errors: [
      {
        code: 'QUOTA_EXCEEDED',
        message: 'Too many.',
        errorDetails: [
          { quotaInfo: { metricName: 'm', limit: 8, dimensions: { region: 'us-central1' } } },
          { errorInfo: { reason: 'r', domain: 'd', metadatas: { zonesAvailable: 'us-central1-b' } } },
          { localizedMessage: { locale: 'en', message: 'Ask for more.' } },
        ],
      },
    ],
  },
};
const INSTANCE = {
  id: '8077205474014399999',
  name: vm.vmName,
  zone: 'https://www.googleapis.com/compute/v1/projects/example/zones/us-central1-a',
  status: 'RUNNING',
  labels: { 'managed-by': 'dropforge' },
  scheduling: { provisioningModel: 'SPOT', maxRunDuration: { seconds: '60' } },
};

const MESSAGE = { data: Buffer.from('{"ü":"✓"}'), attributes: { jobId: 'digits' }, orderingKey: 'digits' };

const DENIED = {
  error: {
    code: 403,
    status: 'PERMISSION_DENIED',
    message: 'Permission 8077205474014399999 is missing.',
    details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'IAM_PERMISSION_DENIED', domain: 'iam' }],
  },
};

let folder: string;
let server: Server;
let port: number;
let complete: Clients;
let trimmed: Clients;
let requests: SentRequest[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dropforge-description-'));
  server = createServer(async (request, response) => {
    requests.push({ request: `${request.method} ${request.url}`, body: await text(request) });
    const body = responseTo(request.method, request.url ?? '');
    response.statusCode = body === DENIED ? 403 : 200;
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  });
  port = await listen(server, 0);
  [complete, trimmed] = [await load('complete.cjs', false), await load('trimmed.cjs', true)];
}, BUILD_MS_MAX);

afterAll(async () => {
  await closeServer(server);
  await rm(folder, { recursive: true });
});

beforeEach(() => {
  requests = [];
});

async function load(name: string, isTrimmed: boolean): Promise<Clients> {
  const { outputFiles } = await build({
    stdin: { contents: SOURCE, resolveDir: import.meta.dirname },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    write: false,
    plugins: isTrimmed ? [...apiDescriptions] : [],
  });
  await writeFile(join(folder, name), outputFiles[0]?.contents ?? '');
  return createRequire(import.meta.url)(join(folder, name)) as Clients;
}

function responseTo(method: string | undefined, url: string): unknown {
  if (url.includes('/denied:publish')) {
    return DENIED;
  }
  if (url.includes(':publish')) {
    return { messageIds: ['8077205474014399999'] };
  }
  return method === 'GET' && url.includes('/instances/') ? INSTANCE : OPERATION;
}

/** The requests that a call sends, and the result that it returns. */
async function record(
  { InstancesClient, ZoneOperationsClient, PublisherClient }: Clients,
  call: (
    instances: Compute.InstancesClient,
    operations: Compute.ZoneOperationsClient,
    publisher: Pubsub.PublisherClient,
  ) => Promise<unknown>,
) {
  requests = [];
  const auth = new GoogleAuth({ authClient: new PassThroughClient() });
  const options = { apiEndpoint: HOST, port, protocol: 'http', auth };
  const publisher = new PublisherClient({ ...options, fallback: 'rest' });
  const result = await call(new InstancesClient(options), new ZoneOperationsClient(options), publisher);
  return { requests, result: JSON.parse(JSON.stringify(result)) as unknown };
}

const at = { project: 'example', zone: 'us-central1-a' };

describe('a trimmed description of an API', () => {
  it.each<[string, Parameters<typeof record>[1]]>([
    [
      'insert from a machine image',
      async (vms) => (await vms.insert(toInsertRequest(vm, defaults, { machineImage: 'm' })))[0].latestResponse,
    ],
    [
      'insert from an image',
      async (vms) => (await vms.insert(toInsertRequest(vm, defaults, { image: 'i' })))[0].latestResponse,
    ],
    [
      'insert of a Spot VM',
      async (vms) =>
        (await vms.insert(toInsertRequest({ ...vm, provisioningModel: 'SPOT' }, defaults, { image: 'i' })))[0]
          .latestResponse,
    ],
    [
      'insert by flex-start',
      async (vms) =>
        (
          await vms.insert(
            toInsertRequest({ ...vm, provisioningModel: 'FLEX_START', capacityWaitSeconds: 90 }, defaults, {
              image: 'i',
            }),
          )
        )[0].latestResponse,
    ],
    ['get', async (vms) => (await vms.get({ ...at, instance: vm.vmName }))[0]],
    ['delete', async (vms) => (await vms.delete({ ...at, instance: vm.vmName }))[0].latestResponse],
    ['wait', async (_, operations) => (await operations.wait({ ...at, operation: 'operation-1' }))[0]],
    [
      'publish',
      async (_vms, _operations, publisher) =>
        (await publisher.publish({ topic: 'projects/p/topics/t', messages: [MESSAGE] }))[0],
    ],
    [
      'publish without permission',
      async (_vms, _operations, publisher) =>
        publisher
          .publish({ topic: 'projects/p/topics/denied', messages: [MESSAGE] })
          .catch(({ code, message, statusDetails, reason }) => ({ code, message, statusDetails, reason })),
    ],
    ['get of an operation', async (_, operations) => (await operations.get({ ...at, operation: 'operation-1' }))[0]],
  ])('sends and parses the same as the complete one: %s', async (_, call) => {
    const expected = await record(complete, call);
    expect(await record(trimmed, call)).toEqual(expected);
    expect(expected.requests.length).toBeGreaterThan(0);
    expect(JSON.stringify(expected.result)).toMatch(/8077205474014399999/);
  });

  it.each([
    [COMPUTE_DESCRIPTION, COMPUTE_CALLS, 100],
    [PUBSUB_DESCRIPTION, PUBSUB_CALLS, 20],
  ] as const)('is a small part of the complete one: %s', async (path, calls, ratioMin) => {
    const description = await readFile(path, 'utf8');
    const length = trimApiDescription(description, calls).length;
    expect(length).toBeGreaterThan(2_000);
    expect(length).toBeLessThan(description.length / ratioMin);
  });

  it('is not created from a library that lacks a method', async () => {
    const description = await readFile(COMPUTE_DESCRIPTION, 'utf8');
    const unknown = { ...COMPUTE_CALLS, calls: { Instances: ['Get', 'Missing'] } };
    expect(() => trimApiDescription(description, unknown)).toThrow(/Instances does not have Missing/);
    expect(() => trimApiDescription('{"nested":{}}', PUBSUB_CALLS)).toThrow(/Publisher does not have Publish/);
  });
});
