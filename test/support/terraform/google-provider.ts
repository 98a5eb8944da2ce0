import { fileURLToPath } from 'node:url';
import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServiceDefinition,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { listReplacing } from './immutable-arguments.ts';
import type { AttributeSchema, BlockSchema, ProviderSchema } from './provider-schema.ts';
import { decodeValue, encodeValue, isValueMap, UNKNOWN, type Value } from './terraform-value.ts';

export type Rules = {
  /** Why Google's provider would refuse a resource with these values; undefined if it accepts them. */
  readonly findProblem?: (type: string, values: Value) => string | undefined;
};

/** `reattach` is the value of `TF_REATTACH_PROVIDERS`: Terraform then uses this provider as hashicorp/google. */
export type RunningProvider = { readonly reattach: string; close(): Promise<void> };

const PROTOCOL = new URL('../../fixtures/terraform/tfplugin5.proto', import.meta.url);

/** Attributes that identify a resource among others of its type, in order of preference. */
const NAMES = ['name', 'account_id', 'role_id', 'repository_id', 'display_name', 'service', 'bucket', 'project_id'];

/** Computed values whose format the configuration or the tests depend on. */
const KNOWN_VALUES: Readonly<Record<string, (name: string) => Value>> = {
  'google_project.number': () => '123456789012',
  'google_pubsub_topic.id': (name) => `projects/my-project/topics/${name}`,
  'google_cloudfunctions2_function.uri': (name) => `https://${name}-x.a.run.app`,
  'google_service_account.email': (name) => `${name}@my-project.iam.gserviceaccount.com`,
};

/**
 * Starts a provider that implements the schema of Google's and creates nothing (Terraform,
 * docs/plugin-protocol/tfplugin5.proto). Computed values are unknown in a plan. After apply they are a string that names
 * their origin, such as `google_pubsub_topic/dropforge-tick/id`, so that an applied state shows the references between
 * resources.
 */
export async function startGoogleProvider(schema: ProviderSchema, rules: Rules = {}): Promise<RunningProvider> {
  const server = new Server();
  server.addService(providerService(), mapValues(methodsOf(schema, rules), unary));
  const port = await new Promise<number>((resolve, reject) => {
    const onBound = (error: Error | null, bound: number) => (error === null ? resolve(bound) : reject(error));
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), onBound);
  });
  const address = { Network: 'tcp', String: `127.0.0.1:${port}` };
  const provider = { Protocol: 'grpc', ProtocolVersion: 5, Pid: process.pid, Test: true, Addr: address };
  return {
    reattach: JSON.stringify({ 'registry.terraform.io/hashicorp/google': provider }),
    close: async () => server.forceShutdown(),
  };
}

/** The service of the protocol, without the methods that this provider does not have. */
function providerService(): ServiceDefinition {
  const { 'tfplugin5.Provider': service } = loadSync(fileURLToPath(PROTOCOL), { longs: Number });
  return service as ServiceDefinition;
}

type DynamicValue = { readonly msgpack: Uint8Array };

/** The parameters of every method; each has those of its message. */
type Request = {
  readonly typeName: string;
  readonly config: DynamicValue;
  readonly currentState: DynamicValue;
  readonly priorState: DynamicValue;
  readonly proposedNewState: DynamicValue;
  readonly plannedState: DynamicValue;
  readonly rawState: { readonly json: Uint8Array };
};

type Method = (request: Request) => object;

function unary(method: Method) {
  return ({ request }: ServerUnaryCall<Request, object>, respond: sendUnaryData<object>) =>
    respond(null, method(request));
}

type Methods = Readonly<Record<string, Method>>;

function methodsOf({ provider, resources, dataSources }: ProviderSchema, { findProblem }: Rules): Methods {
  return {
    GetSchema: () => ({
      provider: schemaOf(provider),
      resourceSchemas: mapValues(resources, schemaOf),
      dataSourceSchemas: mapValues(dataSources, schemaOf),
    }),
    PrepareProviderConfig: ({ config }) => ({ preparedConfig: config }),
    Configure: () => ({}),
    Stop: () => ({}),
    ValidateResourceTypeConfig: () => ({}),
    ValidateDataSourceConfig: () => ({}),
    // Terraform stores state as JSON. A state that has some of the attributes gets the others as after an apply.
    UpgradeResourceState: ({ typeName, rawState }) => {
      const block = resources[typeName] ?? {};
      const values = JSON.parse(Buffer.from(rawState.json).toString()) as Value;
      return { upgradedState: toDynamic(resolveUnknown(block, markComputed(block, values), typeName)) };
    },
    ReadResource: ({ currentState }) => ({ newState: currentState }),
    // The flag allows the result to differ from the request, which providers of the legacy SDK, such as Google's, need.
    PlanResourceChange: ({ typeName, priorState, proposedNewState }) => {
      const planned = markComputed(resources[typeName] ?? {}, fromDynamic(proposedNewState));
      const replacing = listReplacing(typeName, fromDynamic(priorState), planned);
      return {
        plannedState: toDynamic(planned),
        requiresReplace: replacing.map((attributeName) => ({ steps: [{ attributeName }] })),
        legacyTypeSystem: true,
      };
    },
    ApplyResourceChange: ({ typeName, plannedState }) => {
      const values = fromDynamic(plannedState);
      const problem = findProblem?.(typeName, values);
      return {
        newState: toDynamic(resolveUnknown(resources[typeName] ?? {}, values, typeName)),
        legacyTypeSystem: true,
        diagnostics: problem === undefined ? [] : [{ severity: 'ERROR', summary: problem }],
      };
    },
    ReadDataSource: ({ typeName, config }) => {
      const block = dataSources[typeName] ?? {};
      return { state: toDynamic(resolveUnknown(block, markComputed(block, fromDynamic(config)), typeName)) };
    },
  };
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
      return computedCollection(type, path);
  }
}

/** A list of objects has one; other collections are empty. */
function computedCollection(type: unknown, path: readonly string[]): Value {
  const [kind, element] = Array.isArray(type) ? type : [];
  if (kind !== 'list' || !Array.isArray(element) || element[0] !== 'object') {
    return kind === 'map' ? {} : [];
  }
  const attributes = Object.entries(element[1] as Readonly<Record<string, unknown>>);
  return [Object.fromEntries(attributes.map(([key, inner]) => [key, computedValue({ type: inner }, [...path, key])]))];
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
    const item = value[key] ?? (/^(list|set)$/.test(nested.nesting_mode) ? [] : null);
    return [key, Array.isArray(item) ? item.map(inner) : inner(item)] as const;
  });
  return Object.fromEntries([...attributes, ...blocks]);
}

function schemaOf(block: BlockSchema): object {
  return { block: blockOf(block) };
}

function blockOf({ attributes = {}, block_types = {} }: BlockSchema): object {
  return {
    attributes: Object.entries(attributes).map(([name, { type, ...flags }]) => ({
      name,
      type: Buffer.from(JSON.stringify(type)),
      ...flags,
    })),
    blockTypes: Object.entries(block_types).map(([typeName, nested]) => ({
      typeName,
      block: blockOf(nested.block),
      nesting: nested.nesting_mode.toUpperCase(),
      minItems: nested.min_items ?? 0,
      maxItems: nested.max_items ?? 0,
    })),
  };
}

function toDynamic(value: Value): DynamicValue {
  return { msgpack: encodeValue(value) };
}

function fromDynamic({ msgpack }: DynamicValue): Value {
  return decodeValue(msgpack);
}

function mapValues<T, R>(values: Readonly<Record<string, T>>, change: (value: T) => R): Readonly<Record<string, R>> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, change(value)]));
}
