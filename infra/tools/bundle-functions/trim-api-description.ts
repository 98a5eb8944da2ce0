import * as z from 'zod';

/** A node of protobufjs's JSON (`Root.fromJSON`). Other fields are kept unchanged. */
type Node = {
  readonly nested?: Readonly<Record<string, Node>>;
  readonly fields?: Readonly<Record<string, { readonly type: string }>>;
  readonly values?: Readonly<Record<string, number>>;
  readonly methods?: Readonly<Record<string, { readonly requestType: string; readonly responseType: string }>>;
};

const nodeSchema: z.ZodType<Node> = z.looseObject({
  get nested() {
    return z.record(z.string(), nodeSchema).exactOptional();
  },
  fields: z.record(z.string(), z.looseObject({ type: z.string() })).exactOptional(),
  values: z.record(z.string(), z.number()).exactOptional(),
  methods: z.record(z.string(), z.looseObject({ requestType: z.string(), responseType: z.string() })).exactOptional(),
});

/** The calls that Dropforge makes to one API, by service. */
export type ApiCalls = {
  /** The package of the services in the client library's description: `google.pubsub.v1`. */
  readonly package: string;
  readonly calls: Readonly<Record<string, readonly string[]>>;
};

/** The methods that infra/google-cloud/compute-engine calls with the client library. */
export const COMPUTE_CALLS: ApiCalls = {
  package: 'google.cloud.compute.v1',
  calls: { Instances: ['Insert', 'Get', 'Delete'], ZoneOperations: ['Get', 'Wait'] },
};

/** The methods that infra/google-cloud/pubsub calls. */
export const PUBSUB_CALLS: ApiCalls = { package: 'google.pubsub.v1', calls: { Publisher: ['Publish'] } };

/** A type name in a field or method, and the path of the enclosing namespace or message. */
type Reference = { readonly type: string; readonly scope: readonly string[] };

/**
 * Returns a client library's description of its APIs without the services, messages and enums that the calls cannot
 * reach. The description is parsed and resolved at each start of a function: Compute Engine's has 12 MB, and nine
 * tenths of Pub/Sub's smaller one describe administration and protobuf itself. Throws if the library lacks one of the
 * calls.
 */
export function trimApiDescription(text: string, { package: apiPackage, calls }: ApiCalls): string {
  const root = nodeSchema.parse(JSON.parse(text));
  const scope = apiPackage.split('.');
  const kept = new Map<string, Node>();
  const pending: Reference[] = [];
  for (const [name, methods] of Object.entries(calls)) {
    const service = trimService(findNode(root, [...scope, name]), `${apiPackage}.${name}`, methods);
    kept.set(`${apiPackage}.${name}`, service);
    const types = Object.values(service.methods ?? {}).flatMap(({ requestType, responseType }) => [
      requestType,
      responseType,
    ]);
    pending.push(...types.map((type) => ({ type, scope })));
  }
  for (let reference = pending.pop(); reference !== undefined; reference = pending.pop()) {
    const path = resolve(root, reference);
    const node = path && findNode(root, path);
    if (path !== undefined && node !== undefined && !kept.has(path.join('.'))) {
      kept.set(path.join('.'), node);
      pending.push(...referencesIn(node, path));
    }
  }
  return JSON.stringify(prune(root, [], kept) ?? {});
}

function trimService(service: Node | undefined, name: string, called: readonly string[]): Node {
  const methods = called.map((method) => [method, service?.methods?.[method]] as const);
  const missing = methods.filter(([, method]) => method === undefined).map(([method]) => method);
  if (missing.length > 0) {
    throw new Error(`${name} does not have ${missing.join(', ')}. The client library has changed.`);
  }
  return {
    ...service,
    methods: Object.fromEntries(methods.flatMap(([key, method]) => (method ? [[key, method]] : []))),
  };
}

function findNode(root: Node, path: readonly string[]): Node | undefined {
  return path.reduce<Node | undefined>((node, name) => node?.nested?.[name], root);
}

function isDefinition({ fields, values, methods }: Node): boolean {
  return (fields ?? values ?? methods) !== undefined;
}

/**
 * Returns the path of the outermost message or enum that contains the type, which is kept as a whole; undefined for
 * scalar types. A name is resolved from the innermost scope outwards (protobuf's language guide, "Packages and Name
 * Resolution").
 */
function resolve(root: Node, { type, scope }: Reference): readonly string[] | undefined {
  const names = type.replace(/^\./, '').split('.');
  for (let depth = type.startsWith('.') ? 0 : scope.length; depth >= 0; depth -= 1) {
    const path = [...scope.slice(0, depth), ...names];
    if (findNode(root, path) !== undefined) {
      const prefixes = path.map((_, index) => path.slice(0, index + 1));
      return prefixes.find((prefix) => isDefinition(findNode(root, prefix) ?? {}));
    }
  }
  return undefined;
}

function referencesIn({ fields = {}, nested = {} }: Node, scope: readonly string[]): readonly Reference[] {
  const own = Object.values(fields).map(({ type }) => ({ type, scope }));
  return [...own, ...Object.entries(nested).flatMap(([name, node]) => referencesIn(node, [...scope, name]))];
}

/** The node without everything but the kept definitions and the namespaces that contain them. */
function prune(node: Node, path: readonly string[], kept: ReadonlyMap<string, Node>): Node | undefined {
  const whole = kept.get(path.join('.'));
  if (whole !== undefined || isDefinition(node)) {
    return whole;
  }
  const nested = Object.entries(node.nested ?? {}).flatMap(([name, child]) => {
    const left = prune(child, [...path, name], kept);
    return left === undefined ? [] : [[name, left] as const];
  });
  return nested.length > 0 ? { ...node, nested: Object.fromEntries(nested) } : undefined;
}
