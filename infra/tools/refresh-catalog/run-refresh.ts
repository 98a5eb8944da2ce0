import { readFile, rename, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import type { Read } from '#infra/tools/refresh-catalog/api-answers.ts';
import type { Change, MergedCatalog } from '#infra/tools/refresh-catalog/catalog-changes.ts';
import { mergeCatalog } from '#infra/tools/refresh-catalog/merge-catalog.ts';
import { printCatalog } from '#infra/tools/refresh-catalog/print-catalog.ts';
import { type ApiQuestion, BILLING_URL, COMPUTE_URL, readApis } from '#infra/tools/refresh-catalog/read-apis.ts';
import { type Catalog, catalogSchema } from '#shared/catalog/catalog.ts';

/** So many names are shown of things that changed in the same way. */
const NAMES_SHOWN_MAX = 3;

const USAGE =
  'Usage: node infra/tools/refresh-catalog/refresh-catalog.ts --project PROJECT [--prices] [--dry-run] [--catalog FILE] [--compute-url URL] [--billing-url URL]';

/** What the refresh needs of the machine that it runs on. */
export type RefreshSettings = {
  /** `machines.json`, where no other file is named. */
  readonly catalogPath: string;
  readonly readToken: () => Promise<Read<string>>;
  /** Today, as `2026-11-20`. */
  readonly day: string;
  readonly write: (text: string) => void;
};

type Arguments = Omit<ApiQuestion, 'token'> & { readonly catalogPath: string; readonly isDryRun: boolean };

/** Rewrites the catalog from Google's APIs and says what changed. Gives the exit status; a failure is one sentence. */
export async function runRefresh(words: readonly string[], settings: RefreshSettings): Promise<number> {
  const done = await refresh(words, settings);
  if ('failure' in done) {
    settings.write(`${done.failure}\n`);
    return 1;
  }
  settings.write(done.value);
  return 0;
}

async function refresh(words: readonly string[], settings: RefreshSettings): Promise<Read<string>> {
  const given = readArguments(words, settings);
  if ('failure' in given) {
    return given;
  }
  const { catalogPath, isDryRun, ...question } = given.value;
  const catalog = await readCatalogFile(catalogPath);
  if ('failure' in catalog) {
    return catalog;
  }
  const token = await settings.readToken();
  if ('failure' in token) {
    return token;
  }
  const answers = await readApis({ ...question, token: token.value });
  if ('failure' in answers) {
    return answers;
  }
  const merged = mergeCatalog(catalog.value, answers.value);
  if (isDryRun || merged.changes.length === 0) {
    return { value: describeMerged(merged, 'Nothing is written.') };
  }
  const written = await writeCatalogFile(catalogPath, merged.catalog);
  return 'failure' in written ? written : { value: describeMerged(merged, `${catalogPath} is rewritten.`) };
}

function readArguments(words: readonly string[], { catalogPath, day }: RefreshSettings): Read<Arguments> {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    const { values } = parseArgs({
      args: [...words],
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
      return { failure: `Whose APIs are to be asked? ${USAGE}` };
    }
    return {
      value: {
        project: values.project,
        asksPrices: values.prices === true,
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

async function readCatalogFile(path: string): Promise<Read<Catalog>> {
  try {
    return { value: catalogSchema.parse(JSON.parse(await readFile(path, 'utf8'))) };
  } catch (error) {
    return { failure: `${path} is no catalog that can be read: ${messageOf(error)}` };
  }
}

/** The whole of it or nothing: the file is replaced, and only by a catalog that can be read again. */
async function writeCatalogFile(path: string, catalog: Catalog): Promise<Read<null>> {
  try {
    await writeFile(`${path}.new`, printCatalog(catalogSchema.parse(catalog)));
    await rename(`${path}.new`, path);
    return { value: null };
  } catch (error) {
    return { failure: `${path} cannot be written: ${messageOf(error)}` };
  }
}

function describeMerged({ changes, doubts }: MergedCatalog, outcome: string): string {
  const alike = Map.groupBy(changes, ({ change }) => change);
  const lines = [...alike].map(([change, members]) => `${describeNames(members)}: ${change}`);
  const counted = changes.length === 0 ? 'Nothing changed.' : `${changes.length} changes.`;
  return `${[...lines, ...doubts, `${counted} ${outcome}`].join('\n')}\n`;
}

function describeNames(members: readonly Change[]): string {
  const shown = members.slice(0, NAMES_SHOWN_MAX).map(({ name }) => name);
  const others = members.length - shown.length;
  return others === 0 ? shown.join(', ') : `${shown.join(', ')} and ${others} others`;
}

/** One line: what Zod says of a file has many. */
function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replaceAll(/\s+/g, ' ').slice(0, 300);
}
