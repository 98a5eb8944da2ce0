import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { printCatalog } from '#infra/tools/refresh-catalog/print-catalog.ts';
import { runRefresh } from '#infra/tools/refresh-catalog/run-refresh.ts';
import { catalogSchema } from '#shared/catalog/catalog.ts';
import { EXAMPLE_CATALOG } from '../../support/catalog/example-catalog.ts';

const MACHINES_JSON = join(import.meta.dirname, '../../../shared/catalog/machines.json');
const PROJECT = '/compute/v1/projects/example-project';
const ZONE = 'https://www.googleapis.com/compute/v1/projects/example-project/zones';
const EMPTY_SCOPE = { warning: { code: 'NO_RESULTS_ON_PAGE', message: 'There are no results for this scope.' } };

type Answers = Record<string, { readonly status?: number; readonly body: unknown }>;

const t4 = { name: 'nvidia-tesla-t4', maximumCardsPerInstance: 4 };

/** API responses by path, followed by the page token for second pages. */
const RESPONSES: Answers = {
  [`${PROJECT}/regions`]: {
    body: {
      kind: 'compute#regionList',
      items: [
        { name: 'us-central1', status: 'UP', zones: [`${ZONE}/us-central1-b`, `${ZONE}/us-central1-a`] },
        { name: 'europe-west4', status: 'UP', zones: [`${ZONE}/europe-west4-a`] },
      ],
    },
  },
  [`${PROJECT}/aggregated/machineTypes`]: {
    body: {
      kind: 'compute#machineTypeAggregatedList',
      items: {
        'zones/europe-west4-a': { machineTypes: [n1(4, 15360), n1(8, 30720), n4(4)] },
        'zones/us-central1-a': { machineTypes: [n1(4, 15360), n1(8, 30720)] },
        'zones/us-central1-b': EMPTY_SCOPE,
      },
      nextPageToken: 'second page/+',
    },
  },
  [`${PROJECT}/aggregated/machineTypes second page/+`]: {
    body: {
      kind: 'compute#machineTypeAggregatedList',
      items: {
        'zones/europe-west4-a': EMPTY_SCOPE,
        'zones/us-central1-a': {
          machineTypes: [n4(4), withGpus('g2-standard-4', { cpus: 4, gpu: 'nvidia-l4', count: 1 })],
        },
        'zones/us-central1-b': {
          machineTypes: [
            n1(4, 15360),
            n1(8, 30720),
            withGpus('a3-highgpu-1g', { cpus: 26, gpu: 'nvidia-h100-80gb', count: 1 }),
            withGpus('a3-highgpu-8g', { cpus: 208, gpu: 'nvidia-h100-80gb', count: 8 }),
            { ...n4(4), deprecated: { state: 'OBSOLETE' } },
          ],
        },
      },
    },
  },
  [`${PROJECT}/aggregated/acceleratorTypes`]: {
    body: {
      items: { 'zones/us-central1-a': { acceleratorTypes: [t4] }, 'zones/us-central1-b': EMPTY_SCOPE },
    },
  },
  '/billing/v1/services/6F81-5844-456A/skus': {
    body: {
      skus: [sku('N1 Predefined Instance Core running in Americas', { nanos: 40_000_000 })],
      nextPageToken: 'two',
    },
  },
  '/billing/v1/services/6F81-5844-456A/skus two': {
    body: { skus: [sku('N1 Predefined Instance Ram running in Americas', { nanos: 4_237_000 })], nextPageToken: '' },
  },
};

function n1(cpus: number, memoryMb: number) {
  return { kind: 'compute#machineType', name: `n1-standard-${cpus}`, guestCpus: cpus, memoryMb, isSharedCpu: false };
}

function n4(cpus: number) {
  return { name: `n4-standard-${cpus}`, guestCpus: cpus, memoryMb: cpus * 4096, isSharedCpu: false };
}

function withGpus(name: string, { cpus, gpu, count }: { cpus: number; gpu: string; count: number }) {
  const accelerators = [{ guestAcceleratorType: gpu, guestAcceleratorCount: count }];
  return { name, guestCpus: cpus, memoryMb: (name.startsWith('g2') ? 4 : 9) * cpus * 1024, accelerators };
}

function sku(description: string, { nanos }: { nanos: number }) {
  const unitPrice = { currencyCode: 'USD', units: '0', nanos };
  return {
    description,
    category: { serviceDisplayName: 'Compute Engine', resourceFamily: 'Compute', usageType: 'OnDemand' },
    serviceRegions: ['us-central1', 'us-east1', 'us-west1'],
    pricingInfo: [{ pricingExpression: { usageUnit: 'h', tieredRates: [{ startUsageAmount: 0, unitPrice }] } }],
  };
}

describe('refreshing the catalog', () => {
  let folder: string;
  let catalogPath: string;
  let responses: Answers;
  let requests: { readonly path: string; readonly authorization: string | undefined }[];
  let server: ReturnType<typeof createServer>;
  let origin: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'refresh-catalog-'));
    catalogPath = join(folder, 'machines.json');
    await writeFile(catalogPath, printCatalog(EXAMPLE_CATALOG));
    responses = { ...RESPONSES };
    requests = [];
    server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
      const token = searchParams.get('pageToken');
      const path = token === null ? pathname : `${pathname} ${token}`;
      requests.push({ path, authorization: request.headers.authorization });
      const { status = 200, body } = responses[path] ?? { status: 404, body: { error: { message: 'Not there.' } } };
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterEach(async () => {
    server.close();
    await rm(folder, { recursive: true });
  });

  async function refresh(...args: string[]) {
    let output = '';
    const urls = ['--compute-url', `${origin}/compute/v1`, '--billing-url', `${origin}/billing/v1`];
    const status = await runRefresh(['--project', 'example-project', ...urls, ...args], {
      catalogPath,
      readToken: async () => ({ value: 'a-token' }),
      day: '2026-12-24',
      write: (text) => {
        output += text;
      },
    });
    return { status, output };
  }

  const readBack = async () => catalogSchema.parse(JSON.parse(await readFile(catalogPath, 'utf8')));

  it('writes and prints the changes', async () => {
    expect(await refresh()).toEqual({
      status: 0,
      output: `n4-standard-4: +europe-west4-a\n1 changes. ${catalogPath} was updated.\n`,
    });
    const catalog = await readBack();
    expect(catalog.availability.n4).toEqual(['europe-west4-a', 'us-central1-a']);
    expect(catalog.machineTypes).toEqual(EXAMPLE_CATALOG.machineTypes);
    expect(catalog.legacyMachineTypes).toEqual(EXAMPLE_CATALOG.legacyMachineTypes);
    expect(await refresh()).toEqual({ status: 0, output: 'Nothing changed. Nothing was written.\n' });
  });

  it('requests every page, with the token', async () => {
    await refresh('--prices');
    expect(requests.map(({ path }) => path)).toEqual(Object.keys(RESPONSES));
    expect(new Set(requests.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer a-token']));
  });

  it('updates prices only if requested', async () => {
    await refresh();
    expect((await readBack()).machineTypes[0]?.onDemandPerHourUsd).toBe(0.19);
    const { output } = await refresh('--prices');
    expect((await readBack()).machineTypes[0]?.onDemandPerHourUsd).toBe(0.22356);
    expect(output).toContain('n1-standard-4: costs 0.22356 on demand, not 0.19\n');
    expect(output).toContain('n4-standard-4 has no price in the Cloud Billing Catalog: the previous price is kept.\n');
  });

  it('writes nothing in a dry run', async () => {
    const { status, output } = await refresh('--dry-run');
    expect(status).toBe(0);
    expect(output).toBe('n4-standard-4: +europe-west4-a\n1 changes. Nothing was written.\n');
    expect(await readBack()).toEqual(EXAMPLE_CATALOG);
  });

  it('prints a few of many names with the same change', async () => {
    responses[`${PROJECT}/regions`] = {
      body: { items: [{ name: 'us-central1', zones: [`${ZONE}/us-central1-a`, `${ZONE}/us-central1-c`] }] },
    };
    const { output } = await refresh('--dry-run');
    expect(output).toContain('a3-highgpu-1g, a3-highgpu-8g: -us-central1-b\n');
    expect(output).toContain('us-central1: +us-central1-c -us-central1-b\n');
  });

  it.each<[string, string, ...[Answers[string], RegExp]]>([
    [
      'returns an error',
      'regions',
      { status: 403, body: { error: { code: 403, message: 'Compute Engine API is off.' } } },
      /403/,
    ],
    [
      'returns an error that is not JSON',
      'regions',
      { status: 502, body: '<html>Bad\nGateway</html>' },
      /502, "<html>Bad Gateway/,
    ],
    ['does not return JSON', 'regions', { body: 'hello' }, /JSON/],
    [
      'returns an unexpected format',
      'regions',
      { body: { items: [{ zones: [] }] } },
      /unexpected format at items\.0\.name/,
    ],
    ['returns an empty list', 'regions', { body: { items: [] } }, /the list is empty/],
    [
      'cannot reach a zone',
      'aggregated/machineTypes',
      { body: { items: { 'zones/us-central1-a': { warning: { code: 'UNREACHABLE' } } } } },
      /zones\/us-central1-a returned the warning UNREACHABLE/,
    ],
    [
      'returns the same page repeatedly',
      'regions',
      { body: { items: [], nextPageToken: 'again' } },
      /more than 500 pages/,
    ],
  ])('fails with one sentence if an API %s, and keeps the catalog', async (_, list, ...[response, output]) => {
    responses[`${PROJECT}/${list}`] = response;
    responses[`${PROJECT}/${list} again`] = response;
    const result = await refresh();
    expect(result).toEqual({ status: 1, output: expect.stringMatching(output) });
    expect(result.output.split('\n')).toHaveLength(2);
    expect(result.output).toContain(`127.0.0.1`);
    expect(await readBack()).toEqual(EXAMPLE_CATALOG);
    expect(await readdir(folder)).toEqual(['machines.json']);
  });

  it.each([
    ['the server is unreachable', ['--compute-url', 'http://127.0.0.1:1'], /127\.0\.0\.1:1\S*: /],
    ['a URL is invalid', ['--compute-url', 'nowhere'], /nowhere/],
    ['the project is missing', ['--project', ''], /^--project is required/],
    ['a flag is unknown', ['--price'], /'--price'/],
    [
      'the catalog is missing',
      ['--catalog', '/nowhere/machines.json'],
      /^\/nowhere\/machines.json is not a valid catalog/,
    ],
  ])('fails with one sentence if %s', async (_, args, output) => {
    const result = await refresh(...args);
    expect(result).toEqual({ status: 1, output: expect.stringMatching(output) });
    expect(result.output.split('\n')).toHaveLength(2);
  });
});

describe('printing the catalog', () => {
  it('reproduces machines.json, so that a refresh shows only changes', async () => {
    const text = await readFile(MACHINES_JSON, 'utf8');
    expect(printCatalog(catalogSchema.parse(JSON.parse(text)))).toBe(text);
  });
});
