import { z } from 'zod';

/** A value, or in one sentence why there is none. */
export type Read<T> = { readonly value: T } | { readonly failure: string };

/** One page of a list, and the token of the next; null on the last. */
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
  /** What is built in, by Compute Engine's name. */
  readonly gpu: { readonly type: string; readonly count: number } | null;
};

export type ApiAccelerator = { readonly name: string; readonly zone: string };

/** A price of the Cloud Billing Catalog; null for what is billed in several tiers or not in US dollars. */
export type Sku = {
  readonly description: string;
  readonly usageType: string;
  readonly regions: readonly string[];
  readonly perUnitUsd: number | null;
};

/** All that the APIs said; `skus` is null where they were not asked. */
export type ApiAnswers = {
  readonly regions: readonly ApiRegion[];
  readonly machineTypes: readonly ApiMachineType[];
  readonly accelerators: readonly ApiAccelerator[];
  readonly skus: readonly Sku[] | null;
  /** The day on which they were asked, as `2026-11-20`. */
  readonly day: string;
};

const pageSchema = z.object({ nextPageToken: z.string().optional() });
const deprecatedSchema = z.object({ state: z.string().optional() }).optional();
/** What a scope of an aggregated list says that has nothing: all others are reasons not to trust the list. */
const NOTHING_HERE = 'NO_RESULTS_ON_PAGE';
/** These can no longer be made (Compute Engine API, DeprecationStatus). */
const GONE_STATES: readonly (string | undefined)[] = ['OBSOLETE', 'DELETED'];

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

/** Reads a page of Compute Engine's `regions.list`. */
export function readRegions(page: unknown): Read<Page<ApiRegion>> {
  const answer = regionsSchema.safeParse(page);
  if (!answer.success) {
    return notUnderstood(answer.error);
  }
  const items = answer.data.items.map(({ name, zones }) => ({ name, zones: zones.map(lastPart).sort() }));
  return { value: { items, nextPageToken: answer.data.nextPageToken || null } };
}

/** Reads a page of Compute Engine's `machineTypes.aggregatedList`, without what can no longer be made. */
export function readMachineTypes(page: unknown): Read<Page<ApiMachineType>> {
  const answer = machineTypesSchema.safeParse(page);
  if (!answer.success) {
    return notUnderstood(answer.error);
  }
  const { items, nextPageToken } = answer.data;
  const types = Object.entries(items).flatMap(([scope, { machineTypes }]) =>
    machineTypes
      .filter(({ deprecated }) => !GONE_STATES.includes(deprecated?.state))
      .map((type) => toMachineType(lastPart(scope), type)),
  );
  return failureOf(items) ?? { value: { items: types, nextPageToken: nextPageToken || null } };
}

/** Reads a page of Compute Engine's `acceleratorTypes.aggregatedList`. */
export function readAccelerators(page: unknown): Read<Page<ApiAccelerator>> {
  const answer = acceleratorsSchema.safeParse(page);
  if (!answer.success) {
    return notUnderstood(answer.error);
  }
  const { items, nextPageToken } = answer.data;
  const accelerators = Object.entries(items).flatMap(([scope, { acceleratorTypes }]) =>
    acceleratorTypes
      .filter(({ deprecated }) => !GONE_STATES.includes(deprecated?.state))
      .map(({ name }) => ({ name, zone: lastPart(scope) })),
  );
  return failureOf(items) ?? { value: { items: accelerators, nextPageToken: nextPageToken || null } };
}

/** Reads a page of the Cloud Billing Catalog's `services.skus.list`. */
export function readSkus(page: unknown): Read<Page<Sku>> {
  const answer = skusSchema.safeParse(page);
  if (!answer.success) {
    return notUnderstood(answer.error);
  }
  const items = answer.data.skus.map(({ description, category, serviceRegions, pricingInfo }) => {
    const rates = pricingInfo.at(-1)?.pricingExpression.tieredRates ?? [];
    const price = rates.length === 1 ? rates[0]?.unitPrice : undefined;
    return {
      description,
      usageType: category.usageType,
      regions: serviceRegions,
      perUnitUsd: price?.currencyCode === 'USD' ? price.units + price.nanos / 1e9 : null,
    };
  });
  return { value: { items, nextPageToken: answer.data.nextPageToken || null } };
}

function toMachineType(zone: string, type: z.infer<typeof machineTypeSchema>): ApiMachineType {
  const [gpu] = type.accelerators;
  return {
    name: type.name,
    zone,
    vcpus: type.guestCpus,
    // memoryMb counts MiB, rounded to whole ones: 7373 are the 7.2 GiB of the documentation.
    memoryGib: Math.round((type.memoryMb / 1024) * 100) / 100,
    isSharedCpu: type.isSharedCpu,
    isDeprecated: type.deprecated?.state === 'DEPRECATED',
    gpu: gpu === undefined ? null : { type: gpu.guestAcceleratorType, count: gpu.guestAcceleratorCount },
  };
}

/** A zone that did not answer would look like one that has nothing. */
function failureOf(
  scopes: Readonly<Record<string, { readonly warning?: { code: string; message?: string | undefined } | undefined }>>,
): { readonly failure: string } | undefined {
  const found = Object.entries(scopes).find(([, { warning }]) => warning && warning.code !== NOTHING_HERE);
  return found && { failure: `${found[0]} answered with ${found[1].warning?.code}, so the list has gaps` };
}

function notUnderstood(error: z.ZodError): { readonly failure: string } {
  const [issue] = error.issues;
  return { failure: `the answer is not as expected at ${issue?.path.join('.') || 'its root'}: ${issue?.message}` };
}

/** Resources are named by addresses: `https://…/zones/us-central1-a` is the zone us-central1-a. */
function lastPart(address: string): string {
  return address.slice(address.lastIndexOf('/') + 1);
}
