import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { PRODUCT_ROOT } from '#infra/product-root.ts';
import { installPackage, packPackage } from '#infra/tools/release/install-package.ts';

// Builds the npm package and tries its tarball in an empty folder. Writes into dist/ the tarball, the licenses of the
// libraries that it contains, and the checksums of both, for `sha256sum --check`.
const DIRECTORY = join(PRODUCT_ROOT, 'dist');

const { stdout: changes } = await promisify(execFile)('git', ['status', '--porcelain'], { cwd: PRODUCT_ROOT });
if (changes !== '') {
  throw new Error(`A release has what is committed. Commit or remove first:\n${changes}`);
}
const tarball = await packPackage(DIRECTORY);
const folder = await mkdtemp(join(tmpdir(), 'dropforge-release-'));
try {
  const installed = await installPackage(tarball, folder);
  for (const argv of [['version'], ['demo'], ['deploy', 'files', 'deployment']]) {
    process.stdout.write((await installed.run(argv)).stdout);
  }
} finally {
  await rm(folder, { recursive: true });
}
const names = [basename(tarball), 'THIRD-PARTY-LICENSES.txt'];
const lines = names.map(async (name) => {
  const digest = createHash('sha256').update(await readFile(join(DIRECTORY, name)));
  return `${digest.digest('hex')}  ${name}\n`;
});
await writeFile(join(DIRECTORY, 'SHA256SUMS'), (await Promise.all(lines)).join(''));
process.stdout.write(`\nReleased into ${DIRECTORY}: ${names.join(', ')}, SHA256SUMS\n`);
