import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createApiApp } from '#shared/api/api-app.ts';
import { describeApi } from '#shared/api/openapi.ts';
import { type ApiUnderTest, openApiUnderTest } from '../../support/api/api-under-test.ts';

const VALIDATOR = fileURLToPath(
  new URL('../../../node_modules/@seriousme/openapi-schema-validator/bin/validate-api-cli.js', import.meta.url),
);

let api: ApiUnderTest;

beforeEach(async () => {
  api = await openApiUnderTest();
});
afterEach(() => api.close());

const described = Object.entries(describeApi().paths).flatMap(([path, operations]) =>
  Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, '{}')}`),
);

type Parameter = { readonly name: string; readonly in: string; readonly required: boolean };

describe('the OpenAPI document', () => {
  it('has every route of the API once, and no other', () => {
    const routes = createApiApp(api.ports)
      .routes.filter(({ path, method }) => path.startsWith('/v1/') && method !== 'ALL')
      .map(
        ({ path, method }) => `${method} ${path.replace(/:target\{\.\+(:\w+)\}/, '{}$1').replaceAll(/\/:\w+/g, '/{}')}`,
      );
    expect(new Set(described)).toEqual(new Set(routes));
    expect(described).toHaveLength(new Set(described).size);
  });

  it('is served as a valid document of OpenAPI 3.1', async () => {
    const response = await api.request('/v1/openapi.json');
    const served = await response.text();
    expect(JSON.parse(served)).toMatchObject({ openapi: '3.1.1', info: { title: 'Dropforge' } });
    const file = join(await mkdtemp(join(tmpdir(), 'dropforge-openapi-')), 'openapi.json');
    await writeFile(file, served);
    expect(JSON.parse(execFileSync(process.execPath, [VALIDATOR, file], { encoding: 'utf8' }))).toEqual({
      valid: true,
    });
    await rm(dirname(file), { recursive: true });
  });

  it('requires the parameters of the query without which a route answers 400', async () => {
    expect((await api.request('/v1/metrics/sparklines')).status).toBe(400);
    expect((await api.request('/v1/jobs')).status).toBe(200);
  });

  it('names each operation, parameter and schema once, and refers to no schema that is missing', () => {
    const { paths, components } = describeApi();
    const operations = Object.values(paths).flatMap((path) => Object.values(path)) as {
      readonly operationId: string;
      readonly parameters: readonly Parameter[];
      readonly requestBody?: { readonly required?: boolean };
    }[];
    expect(operations.filter(({ requestBody }) => requestBody && requestBody.required !== true)).toEqual([]);
    const required = operations.flatMap(({ operationId, parameters }) =>
      parameters.filter((one) => one.in === 'query' && one.required).map(({ name }) => `${operationId} ${name}`),
    );
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { parameters } of operations) {
      expect(new Set(parameters.map(({ name }) => name)).size).toBe(parameters.length);
    }
    expect(required).toEqual(['downloadFile name', 'readPoints name', 'readSparklines series']);
    const refs = [...JSON.stringify(describeApi()).matchAll(/#\/components\/schemas\/(\w+)/g)].map(
      ([, name]) => name ?? '',
    );
    expect([...new Set(refs)].filter((name) => !(name in components.schemas))).toEqual([]);
    expect(Object.keys(components.schemas).filter((name) => !refs.includes(name))).toEqual([]);
  });
});
