import { type GrpcMethod, startGrpcServer } from './grpc-server.ts';
import { decodeValue, encodeValue, isValueMap, UNKNOWN, type Value } from './message-pack.ts';
import { bytesField, bytesOf, integerField, mapField, readFields } from './protobuf.ts';
import type { AttributeSchema, BlockSchema, ProviderSchema } from './provider-schema.ts';

/** `reattach` is the value of `TF_REATTACH_PROVIDERS`: Terraform then uses this provider as hashicorp/google. */
export type RunningProvider = { readonly reattach: string; close(): Promise<void> };

const NESTING_MODES = { single: 1, list: 2, set: 3, map: 4 } as const;

/** Attributes that identify a resource among others of its type, in order of preference. */
const NAMES = ['name', 'account_id', 'role_id', 'repository_id', 'display_name', 'service', 'bucket', 'project_id'];

/** Computed values whose format the configuration or the tests depend on. */
const KNOWN_VALUES: Readonly<Record<string, (name: string) => Value>> = {
  'google_project.number': () => '123456789012',
  'google_cloudfunctions2_function.uri': (name) => `https://${name}-x.a.run.app`,
  'google_service_account.email': (name) => `${name}@my-project.iam.gserviceaccount.com`,
};

/**
 * Starts a provider that implements the schema of Google's and creates nothing (Terraform,
 * docs/plugin-protocol/tfplugin5.proto). Computed values are unknown in a plan. After apply they are a string that names
 * their origin, such as `google_pubsub_topic/dropforge-tick/id`, so that an applied state shows the references between
 * resources.
 */
export async function startGoogleProvider(schema: ProviderSchema): Promise<RunningProvider> {
  const server = await startGrpcServer(
    Object.fromEntries(
      Object.entries(methodsOf(schema)).map(([name, method]) => [`/tfplugin5.Provider/${name}`, method]),
    ),
  );
  const address = { Network: 'tcp', String: `127.0.0.1:${server.port}` };
  const provider = { Protocol: 'grpc', ProtocolVersion: 5, Pid: process.pid, Test: true, Addr: address };
  return {
    reattach: JSON.stringify({ 'registry.terraform.io/hashicorp/google': provider }),
    close: () => server.close(),
  };
}

function methodsOf(schema: ProviderSchema): Readonly<Record<string, GrpcMethod>> {
  const empty = Buffer.alloc(0);
  return {
    GetSchema: () =>
      Buffer.concat([
        bytesField(1, encodeSchema(schema.provider)),
        mapField(2, mapValues(schema.resources, encodeSchema)),
        mapField(3, mapValues(schema.dataSources, encodeSchema)),
      ]),
    PrepareProviderConfig: (request) => bytesField(1, bytesOf(readFields(request), 1)),
    Configure: () => empty,
    Stop: () => empty,
    ValidateResourceTypeConfig: () => empty,
    ValidateDataSourceConfig: () => empty,
    UpgradeResourceState: (request) => bytesField(1, upgradeState(request)),
    ReadResource: (request) => bytesField(1, bytesOf(readFields(request), 2)),
    PlanResourceChange: (request) =>
      planOrApply(request, 5, (type, state) => markComputed(schema.resources[type] ?? {}, state)),
    ApplyResourceChange: (request) =>
      planOrApply(request, 4, (type, state) => resolveUnknown(schema.resources[type] ?? {}, state, type)),
    ReadDataSource: (request) => {
      const fields = readFields(request);
      const type = bytesOf(fields, 1).toString();
      const block = schema.dataSources[type] ?? {};
      const config = decodeDynamic(bytesOf(fields, 2));
      return bytesField(1, encodeDynamic(resolveUnknown(block, markComputed(block, config), type)));
    },
  };
}

/** Terraform stores state as JSON and passes it unchanged. */
function upgradeState(request: Buffer): Buffer {
  const state = JSON.parse(bytesOf(readFields(bytesOf(readFields(request), 3)), 1).toString()) as Value;
  return encodeDynamic(state);
}

/**
 * Field 3 of the request is the proposed or planned state, null for a deleted resource; field 1 of the response is the
 * resulting state. `legacyField` is the number of the response field that allows the result to differ from the request,
 * which providers of the legacy SDK, such as Google's, need.
 */
function planOrApply(request: Buffer, legacyField: number, change: (type: string, state: Value) => Value): Buffer {
  const fields = readFields(request);
  const state = change(bytesOf(fields, 1).toString(), decodeDynamic(bytesOf(fields, 3)));
  return Buffer.concat([bytesField(1, encodeDynamic(state)), integerField(legacyField, true)]);
}

/** Marks computed attributes that are not configured as unknown. */
function markComputed(block: BlockSchema, value: Value): Value {
  const isUnset = (item: Value, attribute: AttributeSchema) => item === null && attribute.computed === true;
  return mapAttributes(block, value, {
    path: [],
    onAttribute: (item, attribute) => (isUnset(item, attribute) && attribute.type !== 'dynamic' ? UNKNOWN : item),
  });
}

/** Replaces unknown attributes by a value that names their origin. */
function resolveUnknown(block: BlockSchema, value: Value, type: string): Value {
  return mapAttributes(block, value, {
    path: [type],
    onAttribute: (item, attribute, path) => (item === UNKNOWN ? computedValue(attribute, path) : item),
  });
}

function computedValue({ type }: AttributeSchema, path: readonly string[]): Value {
  const known = KNOWN_VALUES[`${path[0]}.${path.at(-1)}`];
  if (known !== undefined) {
    return known(String(path[1]));
  }
  switch (type) {
    case 'string':
      return path.join('/');
    case 'number':
      return 1;
    case 'bool':
      return false;
    default:
      return Array.isArray(type) && type[0] === 'map' ? {} : [];
  }
}

type Walk = {
  /** Starts with the resource's type and name. */
  readonly path: readonly string[];
  readonly onAttribute: (item: Value, attribute: AttributeSchema, path: readonly string[]) => Value;
};

function mapAttributes(block: BlockSchema, value: Value, { path, onAttribute }: Walk): Value {
  if (!isValueMap(value)) {
    return value;
  }
  const name = NAMES.map((key) => value[key]).find((item) => typeof item === 'string');
  const origin = name === undefined ? path : [...path, name];
  const attributes = Object.entries(block.attributes ?? {}).map(
    ([key, attribute]) => [key, onAttribute(value[key] ?? null, attribute, [...origin, key])] as const,
  );
  const blocks = Object.entries(block.block_types ?? {}).map(([key, nested]) => {
    const inner = (item: Value): Value => mapAttributes(nested.block, item, { path: [...origin, key], onAttribute });
    const item = value[key] ?? null;
    return [key, Array.isArray(item) ? item.map(inner) : inner(item)] as const;
  });
  return Object.fromEntries([...attributes, ...blocks]);
}

function encodeSchema(block: BlockSchema): Buffer {
  return bytesField(2, encodeBlock(block));
}

function encodeBlock(block: BlockSchema): Buffer {
  const attributes = Object.entries(block.attributes ?? {}).map(([name, { type, required, optional, computed }]) =>
    bytesField(
      2,
      Buffer.concat([
        bytesField(1, name),
        bytesField(2, JSON.stringify(type)),
        integerField(4, required ?? false),
        integerField(5, optional ?? false),
        integerField(6, computed ?? false),
      ]),
    ),
  );
  const blocks = Object.entries(block.block_types ?? {}).map(([name, nested]) =>
    bytesField(
      3,
      Buffer.concat([
        bytesField(1, name),
        bytesField(2, encodeBlock(nested.block)),
        integerField(3, NESTING_MODES[nested.nesting_mode]),
        integerField(4, nested.min_items ?? 0),
        integerField(5, nested.max_items ?? 0),
      ]),
    ),
  );
  return Buffer.concat([...attributes, ...blocks]);
}

function encodeDynamic(value: Value): Buffer {
  return bytesField(1, encodeValue(value));
}

function decodeDynamic(message: Buffer): Value {
  return decodeValue(bytesOf(readFields(message), 1));
}

function mapValues<T, R>(values: Readonly<Record<string, T>>, change: (value: T) => R): Readonly<Record<string, R>> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, change(value)]));
}
