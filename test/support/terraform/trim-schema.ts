import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { readProviderLock } from './provider-lock.ts';
import { type BlockSchema, type ProviderSchema, SCHEMA_FILE } from './provider-schema.ts';

/** Output of `terraform providers schema -json`; only the fields used here. */
type PublishedSchemas = {
  readonly provider_schemas: Readonly<
    Record<
      string,
      {
        readonly provider: { readonly block: BlockSchema };
        readonly resource_schemas: Readonly<Record<string, { readonly block: BlockSchema }>>;
        readonly data_source_schemas: Readonly<Record<string, { readonly block: BlockSchema }>>;
      }
    >
  >;
};

const TERRAFORM = fileURLToPath(new URL('../../../terraform', import.meta.url));

/** Provider settings that our configurations may use. */
const PROVIDER_SETTINGS = ['project', 'region', 'zone', 'billing_project', 'user_project_override'];

/** Reduces the schema (4 MB) to the types that terraform/ uses, without descriptions. */
function trimSchema(published: PublishedSchemas): ProviderSchema {
  const google = published.provider_schemas['registry.terraform.io/hashicorp/google'];
  if (google === undefined) {
    throw new Error('Standard input contains no schema of hashicorp/google. Run terraform init first.');
  }
  const resources = trimBlocks(google.resource_schemas, findTypes('resource'));
  const attributes = Object.entries(google.provider.block.attributes ?? {});
  const settings = Object.fromEntries(attributes.filter(([name]) => PROVIDER_SETTINGS.includes(name)));
  return {
    version: readProviderLock().version,
    provider: trimBlock({ attributes: settings }),
    resources,
    dataSources: trimBlocks(google.data_source_schemas, findTypes('data')),
  };
}

function trimBlocks(schemas: Readonly<Record<string, { readonly block: BlockSchema }>>, types: readonly string[]) {
  return Object.fromEntries(types.map((type) => [type, trimBlock(schemas[type]?.block ?? {})]));
}

function trimBlock({ attributes = {}, block_types = {} }: BlockSchema): BlockSchema {
  return {
    attributes: Object.fromEntries(
      Object.entries(attributes).map(([name, { type, required, optional, computed }]) => [
        name,
        { type, ...(required && { required }), ...(optional && { optional }), ...(computed && { computed }) },
      ]),
    ),
    block_types: Object.fromEntries(
      Object.entries(block_types).map(([name, { nesting_mode, min_items, max_items, block }]) => [
        name,
        { nesting_mode, ...(min_items && { min_items }), ...(max_items && { max_items }), block: trimBlock(block) },
      ]),
    ),
  };
}

function findTypes(kind: 'resource' | 'data'): readonly string[] {
  const files = readdirSync(TERRAFORM, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.tf'));
  const types = files.flatMap((path) => {
    const blocks = readFileSync(join(TERRAFORM, path), 'utf8').matchAll(new RegExp(`^${kind} "(google_\\w+)"`, 'gm'));
    return [...blocks].flatMap(([, type]) => type ?? []);
  });
  return [...new Set(types)].sort();
}

/** Prints one line per type, so that a diff shows the changes of the provider. */
function print({ version, provider, resources, dataSources }: ProviderSchema): string {
  const lines = (blocks: ProviderSchema['resources']) =>
    Object.entries(blocks)
      .map(([type, block]) => `    ${JSON.stringify(type)}: ${JSON.stringify(block)}`)
      .join(',\n');
  const parts = [
    `  "version": ${JSON.stringify(version)}`,
    `  "provider": ${JSON.stringify(provider)}`,
    `  "resources": {\n${lines(resources)}\n  }`,
    `  "dataSources": {\n${lines(dataSources)}\n  }`,
  ];
  return `{\n${parts.join(',\n')}\n}\n`;
}

/**
 * Updates the schema file. Requires the registry and `terraform init`:
 * `terraform -chdir=terraform providers schema -json | node test/support/terraform/trim-schema.ts`.
 */
const published = JSON.parse(await text(process.stdin)) as PublishedSchemas;
writeFileSync(SCHEMA_FILE, print(trimSchema(published)));
