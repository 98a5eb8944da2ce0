import { readFile, rename, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import type { Result } from '#infra/tools/refresh-catalog/api-responses.ts';
import type { Change, MergedCatalog } from '#infra/tools/refresh-catalog/catalog-changes.ts';
import { mergeCatalog } from '#infra/tools/refresh-catalog/merge-catalog.ts';
import { printCatalog } from '#infra/tools/refresh-catalog/print-catalog.ts';
import { type ApiRequest, BILLING_URL, COMPUTE_URL, readApis } from '#infra/tools/refresh-catalog/read-apis.ts';
import { type Catalog, catalogSchema } from '#shared/catalog/catalog.ts';

/** The number of names shown for entries with the same change. */
const NAMES_SHOWN_MAX = 3;

const USAGE =
  'Usage: node infra/tools/refresh-catalog/refresh-catalog.ts --project PROJECT [--prices] [--dry-run] [--catalog FILE] [--compute-url URL] [--billing-url URL]';

/** Dependencies of the refresh. */
export type RefreshSettings = {
  /** The default path of `machines.json`. */
  readonly catalogPath: string;
  readonly readToken: () => Promise<Result<string>>;
  /** The current date, `2026-11-20`. */
  readonly day: string;
  readonly write: (text: string) => void;
};

type Arguments = Omit<ApiRequest, 'token'> & { readonly catalogPath: string; readonly isDryRun: boolean };

/**
 * Updates the catalog from Google's APIs and prints the changes. Returns the exit status; prints one sentence on
 * failure.
 */
export async function runRefresh(args: readonly string[], settings: RefreshSettings): Promise<number> {
  const result = await refresh(args, settings);
  if ('failure' in result) {
    settings.write(`${result.failure}\n`);
    return 1;
  }
  settings.write(result.value);
  return 0;
}

async function refresh(args: readonly string[], settings: RefreshSettings): Promise<Result<string>> {
  const parsed = readArguments(args, settings);
  if ('failure' in parsed) {
    return parsed;
  }
  const { catalogPath, isDryRun, ...request } = parsed.value;
  const catalog = await readCatalogFile(catalogPath);
  if ('failure' in catalog) {
    return catalog;
  }
  const token = await settings.readToken();
  if ('failure' in token) {
    return token;
  }
  const responses = await readApis({ ...request, token: token.value });
  if ('failure' in responses) {
    return responses;
  }
  const merged = mergeCatalog(catalog.value, responses.value);
  if (isDryRun || merged.changes.length === 0) {
    return { value: describeMerged(merged, 'Nothing was written.') };
  }
  const written = await writeCatalogFile(catalogPath, merged.catalog);
  return 'failure' in written ? written : { value: describeMerged(merged, `${catalogPath} was updated.`) };
}

function readArguments(args: readonly string[], { catalogPath, day }: RefreshSettings): Result<Arguments> {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        project: text,
        catalog: text,
        'compute-url': text,
        'billing-url': text,
        prices: flag,
        'dry-run': flag,
      },
    });
    if (values.project === undefined || values.project === '') {
      return { failure: `--project is required. ${USAGE}` };
    }
    return {
      value: {
        project: values.project,
        includesPrices: values.prices === true,
        isDryRun: values['dry-run'] === true,
        day,
        catalogPath: values.catalog ?? catalogPath,
        computeUrl: values['compute-url'] ?? COMPUTE_URL,
        billingUrl: values['billing-url'] ?? BILLING_URL,
      },
    };
  } catch (error) {
    return { failure: `${messageOf(error)} ${USAGE}` };
  }
}

async function readCatalogFile(path: string): Promise<Result<Catalog>> {
  try {
    return { value: catalogSchema.parse(JSON.parse(await readFile(path, 'utf8'))) };
  } catch (error) {
    return { failure: `${path} is not a valid catalog: ${messageOf(error)}` };
  }
}

/** Replaces the file atomically, and only by a valid catalog. */
async function writeCatalogFile(path: string, catalog: Catalog): Promise<Result<null>> {
  try {
    await writeFile(`${path}.new`, printCatalog(catalogSchema.parse(catalog)));
    await rename(`${path}.new`, path);
    return { value: null };
  } catch (error) {
    return { failure: `${path} cannot be written: ${messageOf(error)}` };
  }
}

function describeMerged({ changes, reviewNotes }: MergedCatalog, outcome: string): string {
  const groups = Map.groupBy(changes, ({ change }) => change);
  const lines = [...groups].map(([change, members]) => `${describeNames(members)}: ${change}`);
  const summary = changes.length === 0 ? 'Nothing changed.' : `${changes.length} changes.`;
  return `${[...lines, ...reviewNotes, `${summary} ${outcome}`].join('\n')}\n`;
}

function describeNames(members: readonly Change[]): string {
  const shown = members.slice(0, NAMES_SHOWN_MAX).map(({ name }) => name);
  const others = members.length - shown.length;
  return others === 0 ? shown.join(', ') : `${shown.join(', ')} and ${others} others`;
}

/** The error message on one line; Zod's has many. */
function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replaceAll(/\s+/g, ' ').slice(0, 300);
}
