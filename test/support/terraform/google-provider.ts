import { type GrpcMethod, startGrpcServer } from './grpc-server.ts';
import { decodeValue, encodeValue, isValueMap, UNKNOWN, type Value } from './message-pack.ts';
import { bytesField, bytesOf, integerField, mapField, readFields } from './protobuf.ts';
import type { AttributeSchema, BlockSchema, ProviderSchema } from './provider-schema.ts';

/** For `TF_REATTACH_PROVIDERS`: Terraform takes this provider for hashicorp/google, and downloads none. */
export type RunningProvider = { readonly reattach: string; close(): Promise<void> };

const NESTING_MODES = { single: 1, list: 2, set: 3, map: 4 } as const;

/** By which of its attributes a resource is told from others of its type. */
const NAMES = ['name', 'account_id', 'role_id', 'repository_id', 'display_name', 'service', 'bucket', 'project_id'];

/** Where an answer's form matters to whoever reads it. */
const KNOWN_ANSWERS: Readonly<Record<string, (name: string) => Value>> = {
  'google_project.number': () => '123456789012',
  'google_cloudfunctions2_function.uri': (name) => `https://${name}-x.a.run.app`,
  'google_service_account.email': (name) => `${name}@my-project.iam.gserviceaccount.com`,
};

/**
 * A provider that knows what Google's takes, and does nothing (Terraform, docs/plugin-protocol/tfplugin5.proto). What
 * the service would answer is unknown in a plan, and afterwards a text that says where it comes from, such as
 * `google_pubsub_topic/dropforge-tick/id`: so that an applied state shows what is wired to what.
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
  const none = Buffer.alloc(0);
  return {
    GetSchema: () =>
      Buffer.concat([
        bytesField(1, encodeSchema(schema.provider)),
        mapField(2, mapValues(schema.resources, encodeSchema)),
        mapField(3, mapValues(schema.dataSources, encodeSchema)),
      ]),
    PrepareProviderConfig: (request) => bytesField(1, bytesOf(readFields(request), 1)),
    Configure: () => none,
    Stop: () => none,
    ValidateResourceTypeConfig: () => none,
    ValidateDataSourceConfig: () => none,
    UpgradeResourceState: (request) => bytesField(1, upgradeState(request)),
    ReadResource: (request) => bytesField(1, bytesOf(readFields(request), 2)),
    PlanResourceChange: (request) =>
      answerChange(request, 5, (type, state) => mark(schema.resources[type] ?? {}, state)),
    ApplyResourceChange: (request) =>
      answerChange(request, 4, (type, state) => settle(schema.resources[type] ?? {}, state, type)),
    ReadDataSource: (request) => {
      const fields = readFields(request);
      const type = bytesOf(fields, 1).toString();
      const block = schema.dataSources[type] ?? {};
      const config = decodeDynamic(bytesOf(fields, 2));
      return bytesField(1, encodeDynamic(settle(block, mark(block, config), type)));
    },
  };
}

/** State is kept as JSON, and is handed over as such. */
function upgradeState(request: Buffer): Buffer {
  const state = JSON.parse(bytesOf(readFields(bytesOf(readFields(request), 3)), 1).toString()) as Value;
  return encodeDynamic(state);
}

/**
 * Field 3 is the state that is proposed or planned, null for a resource that goes; the answer's field 1 is what becomes
 * of it. `legacyField` says that the answer may be other than what was asked for, as older providers' and Google's is.
 */
function answerChange(request: Buffer, legacyField: number, change: (type: string, state: Value) => Value): Buffer {
  const fields = readFields(request);
  const state = change(bytesOf(fields, 1).toString(), decodeDynamic(bytesOf(fields, 3)));
  return Buffer.concat([bytesField(1, encodeDynamic(state)), integerField(legacyField, true)]);
}

/** What nobody has said, and the service will say, is unknown. */
function mark(block: BlockSchema, value: Value): Value {
  const isOpen = (item: Value, attribute: AttributeSchema) => item === null && attribute.computed === true;
  return mapAttributes(block, value, {
    path: [],
    onAttribute: (item, attribute) => (isOpen(item, attribute) && attribute.type !== 'dynamic' ? UNKNOWN : item),
  });
}

/** What is unknown becomes known: a text that tells of its place. */
function settle(block: BlockSchema, value: Value, type: string): Value {
  return mapAttributes(block, value, {
    path: [type],
    onAttribute: (item, attribute, path) => (item === UNKNOWN ? answerOf(attribute, path) : item),
  });
}

function answerOf({ type }: AttributeSchema, path: readonly string[]): Value {
  const known = KNOWN_ANSWERS[`${path[0]}.${path.at(-1)}`];
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
  /** From the resource's type and name inwards. */
  readonly path: readonly string[];
  readonly onAttribute: (item: Value, attribute: AttributeSchema, path: readonly string[]) => Value;
};

function mapAttributes(block: BlockSchema, value: Value, { path, onAttribute }: Walk): Value {
  if (!isValueMap(value)) {
    return value;
  }
  const name = NAMES.map((key) => value[key]).find((item) => typeof item === 'string');
  const place = name === undefined ? path : [...path, name];
  const attributes = Object.entries(block.attributes ?? {}).map(
    ([key, attribute]) => [key, onAttribute(value[key] ?? null, attribute, [...place, key])] as const,
  );
  const blocks = Object.entries(block.block_types ?? {}).map(([key, nested]) => {
    const inner = (item: Value): Value => mapAttributes(nested.block, item, { path: [...place, key], onAttribute });
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
