import { readFileSync } from 'node:fs';

/** A block as `terraform providers schema -json` describes it. */
export type BlockSchema = {
  readonly attributes?: Readonly<Record<string, AttributeSchema>>;
  readonly block_types?: Readonly<Record<string, NestedSchema>>;
};

export type AttributeSchema = {
  /** `"string"`, or a list such as `["map", "string"]`. */
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
  /** The version of hashicorp/google that the schema was taken from. */
  readonly version: string;
  readonly provider: BlockSchema;
  readonly resources: Readonly<Record<string, BlockSchema>>;
  readonly dataSources: Readonly<Record<string, BlockSchema>>;
};

export const SCHEMA_FILE = new URL('../../fixtures/terraform/google-schema.json', import.meta.url);

/** Reads the Google provider's schema, reduced by `trim-schema.ts` to the resources that terraform/ uses. */
export function readGoogleSchema(): ProviderSchema {
  return JSON.parse(readFileSync(SCHEMA_FILE, 'utf8')) as ProviderSchema;
}
