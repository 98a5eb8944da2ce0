import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PRODUCT_ROOT } from '#infra/product-root.ts';
import { FUNCTION_FILE } from '#infra/tools/bundle-functions/archive/function-script.ts';
import { bundleFunctions, writeBundle } from '#infra/tools/bundle-functions/bundle-function.ts';
import { packAgent } from '#infra/vm-agent/pack-agent.ts';

const DIRECTORY = join(PRODUCT_ROOT, 'dist/functions');

for (const bundle of await bundleFunctions()) {
  await writeBundle(bundle, DIRECTORY);
  const sizeBytes = Object.values(bundle.files).reduce((sum, { byteLength }) => sum + byteLength, 0);
  const startBytes = bundle.files[FUNCTION_FILE]?.byteLength ?? 0;
  process.stdout.write(
    `${bundle.name}: ${kibOf(startBytes)} KiB, and ${kibOf(sizeBytes - startBytes)} KiB in other files\n`,
  );
}

// Terraform uploads it under its SHA-256.
const { bytes } = await packAgent();
await mkdir(DIRECTORY, { recursive: true });
await writeFile(`${DIRECTORY}/agent.pyz`, bytes);
process.stdout.write(`agent.pyz: ${kibOf(bytes.byteLength)} KiB\n`);

function kibOf(bytes: number): string {
  return (bytes / 1_024).toFixed(0);
}
