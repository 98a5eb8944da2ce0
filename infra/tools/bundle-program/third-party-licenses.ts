import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { PRODUCT_ROOT } from '#infra/product-root.ts';

const RULE = `\n${'-'.repeat(80)}\n\n`;

const manifestSchema = z.object({ name: z.string(), version: z.string(), license: z.string() });

/** Renders the licenses of the packages that bundled source files are from: every text once, with its packages. */
export async function renderLicenses(inputs: readonly string[]): Promise<string> {
  const folders = inputs.flatMap((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  const packagesByText = new Map<string, Set<string>>();
  for (const folder of [...new Set(folders)].sort()) {
    const directory = join(PRODUCT_ROOT, folder);
    const { name, version, license } = manifestSchema.parse(
      JSON.parse(await readFile(join(directory, 'package.json'), 'utf8')),
    );
    const files = (await readdir(directory)).filter((file) => /^(licen[cs]e|copying|notice)\b/i.test(file)).sort();
    const texts = await Promise.all(files.map((file) => readFile(join(directory, file), 'utf8')));
    const text = texts.map((one) => one.trim()).join('\n\n') || `The package states its license: ${license}`;
    packagesByText.set(text, (packagesByText.get(text) ?? new Set()).add(`${name} ${version} (${license})`));
  }
  const sections = [...packagesByText].map(([text, packages]) => `${[...packages].join('\n')}\n\n${text}\n`);
  return ['Dropforge contains these packages.\n', ...sections].join(RULE);
}
