import { readFileSync } from 'node:fs';

/** A block as `terraform providers schema -json` tells of it. */
export type BlockSchema = {
  readonly attributes?: Readonly<Record<string, AttributeSchema>>;
  readonly block_types?: Readonly<Record<string, NestedSchema>>;
};

export type AttributeSchema = {
  /** `"string"`, or a list: `["map", "string"]`. */
  readonly type: unknown;
  readonly required?: boolean;
  readonly optional?: boolean;
  readonly computed?: boolean;
};

export type NestedSchema = {
  readonly nesting_mode: 'single' | 'list' | 'set' | 'map';
  readonly min_items?: number;
  readonly max_items?: number;
  readonly block: BlockSchema;
};

export type ProviderSchema = {
  readonly provider: BlockSchema;
  readonly resources: Readonly<Record<string, BlockSchema>>;
  readonly dataSources: Readonly<Record<string, BlockSchema>>;
};

export const SCHEMA_FILE = new URL('../../fixtures/terraform/google-schema.json', import.meta.url);

/** What the Google provider takes, for the resources that terraform/ uses: `trim-schema.ts` makes the file. */
export function readGoogleSchema(): ProviderSchema {
  return JSON.parse(readFileSync(SCHEMA_FILE, 'utf8')) as ProviderSchema;
}
