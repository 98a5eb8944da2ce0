import * as z from 'zod';

/** A value, or a failure described in one sentence. */
export type Result<T> = { readonly value: T } | { readonly failure: string };

/** One page of a list, and the token of the next page; null on the last one. */
export type Page<T> = { readonly items: readonly T[]; readonly nextPageToken: string | null };

export type ApiRegion = { readonly name: string; readonly zones: readonly string[] };

/** A machine type in one zone, in the catalog's units. */
export type ApiMachineType = {
  readonly name: string;
  readonly zone: string;
  readonly vcpus: number;
  readonly memoryGib: number;
  readonly isSharedCpu: boolean;
  readonly isDeprecated: boolean;
  /** Built-in GPUs, by Compute Engine's name. */
  readonly gpu: { readonly type: string; readonly count: number } | null;
};

export type ApiAccelerator = { readonly name: string; readonly zone: string };

/** A price of the Cloud Billing Catalog; null if it has several tiers or is not in US dollars. */
export type Sku = {
  readonly description: string;
  readonly usageType: string;
  readonly regions: readonly string[];
  readonly perUnitUsd: number | null;
};

/** The responses of all APIs; `skus` is null if prices were not requested. */
export type ApiResponses = {
  readonly regions: readonly ApiRegion[];
  readonly machineTypes: readonly ApiMachineType[];
  readonly accelerators: readonly ApiAccelerator[];
  readonly skus: readonly Sku[] | null;
  /** The date of the requests, `2026-11-20`. */
  readonly day: string;
};

const pageSchema = z.object({ nextPageToken: z.string().optional() });
const deprecatedSchema = z.object({ state: z.string().optional() }).optional();
/** The warning of an empty scope in an aggregated list; other warnings mean that the list is incomplete. */
const EMPTY_SCOPE = 'NO_RESULTS_ON_PAGE';
/** States of resources that can no longer be created (Compute Engine API, DeprecationStatus). */
const UNUSABLE_STATES: readonly (string | undefined)[] = ['OBSOLETE', 'DELETED'];

const regionsSchema = pageSchema.extend({
  items: z.array(z.object({ name: z.string(), zones: z.array(z.string()).default([]) })).default([]),
});

const scopeShape = { warning: z.object({ code: z.string(), message: z.string().optional() }).optional() };

const machineTypeSchema = z.object({
  name: z.string(),
  guestCpus: z.number(),
  memoryMb: z.number(),
  isSharedCpu: z.boolean().default(false),
  deprecated: deprecatedSchema,
  accelerators: z.array(z.object({ guestAcceleratorType: z.string(), guestAcceleratorCount: z.number() })).default([]),
});

const machineTypesSchema = pageSchema.extend({
  items: z.record(z.string(), z.object({ machineTypes: z.array(machineTypeSchema).default([]), ...scopeShape })),
});

const acceleratorSchema = z.object({ name: z.string(), deprecated: deprecatedSchema });

const acceleratorsSchema = pageSchema.extend({
  items: z.record(z.string(), z.object({ acceleratorTypes: z.array(acceleratorSchema).default([]), ...scopeShape })),
});

const rateSchema = z.object({
  unitPrice: z.object({ currencyCode: z.string(), units: z.coerce.number().default(0), nanos: z.number().default(0) }),
});

const skusSchema = pageSchema.extend({
  skus: z
    .array(
      z.object({
        description: z.string(),
        category: z.object({ usageType: z.string() }),
        serviceRegions: z.array(z.string()).default([]),
        pricingInfo: z.array(z.object({ pricingExpression: z.object({ tieredRates: z.array(rateSchema) }) })),
      }),
    )
    .default([]),
});

/** Parses a page of Compute Engine's `regions.list`. */
export function readRegions(page: unknown): Result<Page<ApiRegion>> {
  return readPage(page, regionsSchema, ({ items }) => ({
    value: items.map(({ name, zones }) => ({ name, zones: zones.map(lastPart).sort() })),
  }));
}

/**
 * Parses a page of Compute Engine's `machineTypes.aggregatedList`, without machine types that can no longer be created.
 */
export function readMachineTypes(page: unknown): Result<Page<ApiMachineType>> {
  return readPage(page, machineTypesSchema, ({ items }) => {
    const types = Object.entries(items).flatMap(([scope, { machineTypes }]) =>
      machineTypes.filter(isUsable).map((type) => toMachineType(lastPart(scope), type)),
    );
    return failureOf(items) ?? { value: types };
  });
}

/** Parses a page of Compute Engine's `acceleratorTypes.aggregatedList`. */
export function readAccelerators(page: unknown): Result<Page<ApiAccelerator>> {
  return readPage(page, acceleratorsSchema, ({ items }) => {
    const accelerators = Object.entries(items).flatMap(([scope, { acceleratorTypes }]) =>
      acceleratorTypes.filter(isUsable).map(({ name }) => ({ name, zone: lastPart(scope) })),
    );
    return failureOf(items) ?? { value: accelerators };
  });
}

/** Parses a page of the Cloud Billing Catalog's `services.skus.list`. */
export function readSkus(page: unknown): Result<Page<Sku>> {
  return readPage(page, skusSchema, ({ skus }) => ({ value: skus.map(toSku) }));
}

function readPage<Response extends z.infer<typeof pageSchema>, T>(
  page: unknown,
  schema: z.ZodType<Response>,
  readItems: (response: Response) => Result<readonly T[]>,
): Result<Page<T>> {
  const response = schema.safeParse(page);
  if (!response.success) {
    return unexpectedFormat(response.error);
  }
  const items = readItems(response.data);
  return 'failure' in items
    ? items
    : { value: { items: items.value, nextPageToken: response.data.nextPageToken || null } };
}

function isUsable({ deprecated }: { readonly deprecated?: z.infer<typeof deprecatedSchema> }): boolean {
  return !UNUSABLE_STATES.includes(deprecated?.state);
}

function toSku({
  description,
  category,
  serviceRegions,
  pricingInfo,
}: z.infer<typeof skusSchema>['skus'][number]): Sku {
  const rates = pricingInfo.at(-1)?.pricingExpression.tieredRates ?? [];
  const price = rates.length === 1 ? rates[0]?.unitPrice : undefined;
  return {
    description,
    usageType: category.usageType,
    regions: serviceRegions,
    perUnitUsd: price?.currencyCode === 'USD' ? price.units + price.nanos / 1e9 : null,
  };
}

function toMachineType(zone: string, type: z.infer<typeof machineTypeSchema>): ApiMachineType {
  const [gpu] = type.accelerators;
  return {
    name: type.name,
    zone,
    vcpus: type.guestCpus,
    // memoryMb is in MiB, rounded to integers: 7373 is 7.2 GiB in the documentation.
    memoryGib: Math.round((type.memoryMb / 1024) * 100) / 100,
    isSharedCpu: type.isSharedCpu,
    isDeprecated: type.deprecated?.state === 'DEPRECATED',
    gpu: gpu === undefined ? null : { type: gpu.guestAcceleratorType, count: gpu.guestAcceleratorCount },
  };
}

/** Reports unreachable zones, which would otherwise look like zones without machines. */
function failureOf(
  scopes: Readonly<Record<string, { readonly warning?: { code: string; message?: string | undefined } | undefined }>>,
): { readonly failure: string } | undefined {
  const found = Object.entries(scopes).find(([, { warning }]) => warning && warning.code !== EMPTY_SCOPE);
  return found && { failure: `${found[0]} returned the warning ${found[1].warning?.code}, so the list is incomplete` };
}

function unexpectedFormat(error: z.ZodError): { readonly failure: string } {
  const [issue] = error.issues;
  return {
    failure: `the response has an unexpected format at ${issue?.path.join('.') || 'its root'}: ${issue?.message}`,
  };
}

/** The name in a resource URL: us-central1-a for `https://…/zones/us-central1-a`. */
function lastPart(url: string): string {
  return url.slice(url.lastIndexOf('/') + 1);
}
