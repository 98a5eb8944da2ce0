import { z } from 'zod';

/** A node of protobufjs's JSON (`Root.fromJSON`): what it does not name is kept as it is. */
type Node = {
  readonly nested?: Readonly<Record<string, Node>>;
  readonly fields?: Readonly<Record<string, { readonly type: string }>>;
  readonly methods?: Readonly<Record<string, { readonly requestType: string; readonly responseType: string }>>;
};

const nodeSchema: z.ZodType<Node> = z.looseObject({
  get nested() {
    return z.record(z.string(), nodeSchema).exactOptional();
  },
  fields: z.record(z.string(), z.looseObject({ type: z.string() })).exactOptional(),
  methods: z.record(z.string(), z.looseObject({ requestType: z.string(), responseType: z.string() })).exactOptional(),
});

/** The calls that Dropforge makes (infra/google-cloud/compute), by service. */
export const COMPUTE_CALLS: Readonly<Record<string, readonly string[]>> = {
  Instances: ['Insert', 'Get', 'Delete', 'AggregatedList'],
  ZoneOperations: ['Get', 'Wait'],
};

const LIBRARY_PATH = ['google', 'cloud', 'compute'];
const VERSION = 'v1';

/**
 * The client library's description of Compute Engine, less every service, message and enum that these calls cannot
 * reach: it is parsed at each start of a function, and has 12 MB. Throws where the library has not what is called.
 */
export function cutComputeDescription(text: string, calls: Readonly<Record<string, readonly string[]>>): string {
  return JSON.stringify(
    cutAt(nodeSchema.parse(JSON.parse(text)), LIBRARY_PATH, (library) => cutLibrary(library, calls)),
  );
}

function cutAt(node: Node, path: readonly string[], cut: (node: Node) => Node): Node {
  const [name, ...rest] = path;
  if (name === undefined) {
    return cut(node);
  }
  const child = node.nested?.[name];
  if (child === undefined) {
    throw new Error(`Compute Engine's description has no ${name}: the library has changed.`);
  }
  return { ...node, nested: { ...node.nested, [name]: cutAt(child, rest, cut) } };
}

/** The library holds every version of the API. */
function cutLibrary(library: Node, calls: Readonly<Record<string, readonly string[]>>): Node {
  const { nested, ...rest } = cutAt(library, [VERSION], (api) => cutPackage(api, calls));
  return { ...rest, nested: Object.fromEntries(Object.entries(nested ?? {}).filter(([name]) => name === VERSION)) };
}

function cutPackage(api: Node, calls: Readonly<Record<string, readonly string[]>>): Node {
  const services = Object.entries(calls).map(([name, methods]) => [name, cutService(api, name, methods)] as const);
  const kept = new Map<string, Node>(services);
  const wanted = services.flatMap(([, { methods = {} }]) =>
    Object.values(methods).flatMap(({ requestType, responseType }) => [requestType, responseType]),
  );
  for (let type = wanted.pop(); type !== undefined; type = wanted.pop()) {
    const message = api.nested?.[type];
    if (message !== undefined && !kept.has(type)) {
      kept.set(type, message);
      wanted.push(...typesOf(message));
    }
  }
  const nested = Object.entries(api.nested ?? {}).filter(([name]) => kept.has(name));
  return { ...api, nested: Object.fromEntries(nested.map(([name, node]) => [name, kept.get(name) ?? node])) };
}

function cutService(api: Node, name: string, wanted: readonly string[]): Node {
  const service = api.nested?.[name];
  const methods = wanted.map((method) => [method, service?.methods?.[method]] as const);
  if (methods.some(([, method]) => method === undefined)) {
    throw new Error(`Compute Engine's ${name} does not have all of ${wanted.join(', ')}: the library has changed.`);
  }
  return {
    ...service,
    methods: Object.fromEntries(methods.flatMap(([key, method]) => (method ? [[key, method]] : []))),
  };
}

/** Every type that a message names, by the first part of its name; nested ones go with their message. */
function typesOf({ fields = {}, nested = {} }: Node): readonly string[] {
  const own = Object.values(fields).map(({ type }) => type.replace(/^\.?google\.cloud\.compute\.v1\./, ''));
  return [...own.map((type) => type.split('.')[0] ?? type), ...Object.values(nested).flatMap(typesOf)];
}
