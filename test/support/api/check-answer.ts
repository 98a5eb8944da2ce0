import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect } from 'vitest';
import { describeApi } from '#shared/api/openapi.ts';

type Content = { readonly 'application/json'?: { readonly schema: object } };
type Described = {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, { readonly content: Content }>>;
};
type Route = { readonly method: string; readonly pattern: RegExp; readonly described: Described };

const document = describeApi();
const ajv = new Ajv2020({ strict: false });
ajv.addSchema({ $id: 'api', ...strictly(document) });

const routes: readonly Route[] = Object.entries(document.paths).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, described]) => ({
    method: method.toUpperCase(),
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/:]+')}$`),
    described: described as Described,
  })),
);

const compiled = new Map<string, ValidateFunction>();

/** Expects an answer of the API to be as its OpenAPI document says, and without a field that the document lacks. */
export async function checkAnswer(path: string, method: string, response: Response): Promise<void> {
  const { pathname } = new URL(path, 'http://api');
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  if (!pathname.startsWith('/v1/') || !isJson || response.status === 304) {
    return;
  }
  const body: unknown = await response.clone().json();
  const route = routes.find((one) => one.method === method && one.pattern.test(pathname));
  const content = route?.described.responses[response.ok ? 200 : 'default']?.content['application/json'];
  const validate = compileRef(content?.schema ?? { $ref: '#/components/schemas/error' });
  expect(response.ok && route === undefined ? `${method} ${pathname} is not described` : null).toBeNull();
  validate(body);
  expect(validate.errors ?? [], `the answer to ${method} ${path}`).toEqual([]);
}

function compileRef(schema: object): ValidateFunction {
  const ref = '$ref' in schema ? String(schema.$ref) : '';
  const found = compiled.get(ref) ?? ajv.compile(ref === '' ? schema : { $ref: `api${ref}` });
  compiled.set(ref, found);
  return found;
}

/** The document with schemas that admit no further fields, though later versions may add some. */
function strictly<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  if (Array.isArray(value)) {
    return value.map(strictly) as Value;
  }
  const entries = Object.entries(value).map(([key, part]) => [key, strictly(part)]);
  const isClosed = 'properties' in value && !('additionalProperties' in value);
  return Object.fromEntries([...entries, ...(isClosed ? [['additionalProperties', false]] : [])]);
}
