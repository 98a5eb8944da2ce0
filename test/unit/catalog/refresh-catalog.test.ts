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

/** As the APIs answer, in two pages where it is said so; the path with the page's token is the key. */
const ANSWERS: Answers = {
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
  let answers: Answers;
  let asked: { readonly path: string; readonly authorization: string | undefined }[];
  let server: ReturnType<typeof createServer>;
  let origin: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'refresh-catalog-'));
    catalogPath = join(folder, 'machines.json');
    await writeFile(catalogPath, printCatalog(EXAMPLE_CATALOG));
    answers = { ...ANSWERS };
    asked = [];
    server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
      const token = searchParams.get('pageToken');
      const path = token === null ? pathname : `${pathname} ${token}`;
      asked.push({ path, authorization: request.headers.authorization });
      const { status = 200, body } = answers[path] ?? { status: 404, body: { error: { message: 'Not there.' } } };
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

  async function refresh(...words: string[]) {
    let said = '';
    const urls = ['--compute-url', `${origin}/compute/v1`, '--billing-url', `${origin}/billing/v1`];
    const status = await runRefresh(['--project', 'example-project', ...urls, ...words], {
      catalogPath,
      readToken: async () => ({ value: 'a-token' }),
      day: '2026-12-24',
      write: (text) => {
        said += text;
      },
    });
    return { status, said };
  }

  const readBack = async () => catalogSchema.parse(JSON.parse(await readFile(catalogPath, 'utf8')));

  it('writes what is different, and says so', async () => {
    expect(await refresh()).toEqual({
      status: 0,
      said: `n4-standard-4: +europe-west4-a\n1 changes. ${catalogPath} is rewritten.\n`,
    });
    const catalog = await readBack();
    expect(catalog.availability.n4).toEqual(['europe-west4-a', 'us-central1-a']);
    expect(catalog.machineTypes).toEqual(EXAMPLE_CATALOG.machineTypes);
    expect(catalog.legacyMachineTypes).toEqual(EXAMPLE_CATALOG.legacyMachineTypes);
    expect(await refresh()).toEqual({ status: 0, said: 'Nothing changed. Nothing is written.\n' });
  });

  it('asks for every page, with the token', async () => {
    await refresh('--prices');
    expect(asked.map(({ path }) => path)).toEqual(Object.keys(ANSWERS));
    expect(new Set(asked.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer a-token']));
  });

  it('takes prices only when asked to', async () => {
    await refresh();
    expect((await readBack()).machineTypes[0]?.onDemandPerHourUsd).toBe(0.19);
    const { said } = await refresh('--prices');
    expect((await readBack()).machineTypes[0]?.onDemandPerHourUsd).toBe(0.22356);
    expect(said).toContain('n1-standard-4: costs 0.22356 on demand, not 0.19\n');
    expect(said).toContain('n4-standard-4 has no price in the Cloud Billing Catalog: the old one is kept.\n');
  });

  it('writes nothing in a dry run', async () => {
    const { status, said } = await refresh('--dry-run');
    expect(status).toBe(0);
    expect(said).toBe('n4-standard-4: +europe-west4-a\n1 changes. Nothing is written.\n');
    expect(await readBack()).toEqual(EXAMPLE_CATALOG);
  });

  it('names a few of many things that changed in the same way', async () => {
    answers[`${PROJECT}/regions`] = {
      body: { items: [{ name: 'us-central1', zones: [`${ZONE}/us-central1-a`, `${ZONE}/us-central1-c`] }] },
    };
    const { said } = await refresh('--dry-run');
    expect(said).toContain('a3-highgpu-1g, a3-highgpu-8g: -us-central1-b\n');
    expect(said).toContain('us-central1: +us-central1-c -us-central1-b\n');
  });

  it.each<[string, string, ...[Answers[string], RegExp]]>([
    [
      'refuses',
      'regions',
      { status: 403, body: { error: { code: 403, message: 'Compute Engine API is off.' } } },
      /403/,
    ],
    [
      'refuses in other words',
      'regions',
      { status: 502, body: '<html>Bad\nGateway</html>' },
      /502, "<html>Bad Gateway/,
    ],
    ['does not speak JSON', 'regions', { body: 'hello' }, /JSON/],
    ['says something else', 'regions', { body: { items: [{ zones: [] }] } }, /not as expected at items\.0\.name/],
    ['says nothing', 'regions', { body: { items: [] } }, /the list is empty/],
    [
      'leaves out a zone that it cannot reach',
      'aggregated/machineTypes',
      { body: { items: { 'zones/us-central1-a': { warning: { code: 'UNREACHABLE' } } } } },
      /zones\/us-central1-a answered with UNREACHABLE/,
    ],
    ['gives the same page again and again', 'regions', { body: { items: [], nextPageToken: 'again' } }, /did not end/],
  ])('fails in one sentence where an API %s, and leaves the catalog alone', async (_, list, ...[answer, said]) => {
    answers[`${PROJECT}/${list}`] = answer;
    answers[`${PROJECT}/${list} again`] = answer;
    const result = await refresh();
    expect(result).toEqual({ status: 1, said: expect.stringMatching(said) });
    expect(result.said.split('\n')).toHaveLength(2);
    expect(result.said).toContain(`127.0.0.1`);
    expect(await readBack()).toEqual(EXAMPLE_CATALOG);
    expect(await readdir(folder)).toEqual(['machines.json']);
  });

  it.each([
    ['nobody listens', ['--compute-url', 'http://127.0.0.1:1'], /127\.0\.0\.1:1\S*: /],
    ['an address is none', ['--compute-url', 'nowhere'], /nowhere/],
    ['the project is not named', ['--project', ''], /^Whose APIs/],
    ['a flag is unknown', ['--price'], /'--price'/],
    ['there is no catalog', ['--catalog', '/nowhere/machines.json'], /^\/nowhere\/machines.json is no catalog/],
  ])('fails in one sentence where %s', async (_, words, said) => {
    const result = await refresh(...words);
    expect(result).toEqual({ status: 1, said: expect.stringMatching(said) });
    expect(result.said.split('\n')).toHaveLength(2);
  });
});

describe('printing the catalog', () => {
  it('gives machines.json as it is, so that a refresh shows only what changed', async () => {
    const text = await readFile(MACHINES_JSON, 'utf8');
    expect(printCatalog(catalogSchema.parse(JSON.parse(text)))).toBe(text);
  });
});
