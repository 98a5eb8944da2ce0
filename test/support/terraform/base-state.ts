import * as z from 'zod';
import type { Resource } from './deployed-state.ts';
import { IMMUTABLE_ARGUMENTS } from './immutable-arguments.ts';

export const BASE_FILE = new URL('../../fixtures/base/terraform.json', import.meta.url);

/** Variables of the deployment: with each option that adds something that holds state. */
export const BASE_VARIABLES = [
  '-var=project_id=my-project',
  '-var=runtime_images={"2.11"={image="i"}}',
  '-var=notifications={team={kind="slack",secret="slack-team"}}',
  '-var=secrets=["hf-token"]',
  '-var=job_accounts=["trainer@my-project.iam.gserviceaccount.com"]',
  '-var=registries={"ghcr.io"={secret="ghcr-reader"}}',
  '-var=page_access={members=["group:team@example.com"]}',
];

/**
 * The resources that must outlive an apply: by address, the arguments that identify the resource and cannot be changed
 * in place.
 */
export type BaseResources = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** The base of what an apply has created; the name of an object is its content, so objects are not in it. */
export function toBase(resources: readonly Resource[]): BaseResources {
  const kept = resources.flatMap(({ address, type, values }) => {
    const names = IMMUTABLE_ARGUMENTS[type]?.filter((name) => withoutComputed(values[name], type) !== undefined);
    const entries = names?.map((name) => [name, withoutComputed(values[name], type)] as const);
    return entries === undefined ? [] : [[address, Object.fromEntries(entries)] as const];
  });
  return Object.fromEntries(kept.toSorted(([one], [other]) => one.localeCompare(other)));
}

/**
 * The value that the configuration sets; undefined if there is none. A value that the provider computed begins with the
 * type.
 */
function withoutComputed(value: unknown, type: string): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item) => withoutComputed(item, type));
    return items.length === 0 ? undefined : items;
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([key, item]) => [key, withoutComputed(item, type)] as const);
    return Object.fromEntries(entries.filter(([, item]) => item !== undefined));
  }
  const isComputed = typeof value === 'string' && (value === '' || value.startsWith(`${type}/`));
  return value === null || isComputed ? undefined : value;
}

/** `module.a[0].module.b.google_x.this["key"]`. */
const ADDRESS = /^(?:(?<module>module\..+)\.)?(?<type>google_\w+)\.(?<name>\w+)(?:\[(?<key>.+)\])?$/;

/** The base as a Terraform state of format 4. The provider completes the attributes. */
export function toState(base: BaseResources): string {
  const resources = Object.entries(base).map(([address, attributes]) => {
    const { module, type, name, key } = ADDRESS.exec(address)?.groups ?? {};
    const provider = 'provider["registry.terraform.io/hashicorp/google"]';
    const index = key === undefined ? {} : { index_key: JSON.parse(key) as unknown };
    const instances = [{ ...index, schema_version: 0, attributes }];
    return { ...(module !== undefined && { module }), mode: 'managed', type, name, provider, instances };
  });
  const lineage = '00000000-0000-0000-0000-000000000000';
  return JSON.stringify({ version: 4, terraform_version: '1.9.0', serial: 1, lineage, outputs: {}, resources });
}

const changesSchema = z.object({
  resource_changes: z.array(
    z.object({
      address: z.string(),
      previous_address: z.string().optional(),
      change: z.object({ actions: z.array(z.string()), replace_paths: z.array(z.unknown()).optional() }),
    }),
  ),
});

/**
 * Lists what a plan (`terraform show -json`) deletes or replaces of a base, each with why; empty if all of it is kept.
 */
export function listLost(base: BaseResources, plan: string): readonly string[] {
  const changes = changesSchema.parse(JSON.parse(plan)).resource_changes;
  return Object.keys(base).flatMap((address) => {
    const found = changes.find((one) => (one.previous_address ?? one.address) === address);
    const { actions, replace_paths: paths } = found?.change ?? { actions: ['forget'] };
    const isKept = actions.every((action) => action === 'no-op' || action === 'update');
    return isKept
      ? []
      : [`${address}: ${actions.join(', ')}${paths === undefined ? '' : ` for ${JSON.stringify(paths)}`}`];
  });
}
