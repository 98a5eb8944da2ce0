import { createHash } from 'node:crypto';
import { copyFile, lstat, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import * as z from 'zod';
import { isFileOrInsideFile } from '#cli/client/find-cloud.ts';
import type { Command } from '#cli/core/command.ts';
import { Failure, UsageFailure } from '#cli/core/failure.ts';
import { bareProgramName } from '#cli/core/program-name.ts';
import { shortenPath } from '#cli/render/format.ts';
import { ignoreMissing } from '#infra/embedded/data-dir/ignore-missing.ts';
import { PRODUCT_ROOT } from '#infra/product-root.ts';
import packageFile from '#package.json' with { type: 'json' };
import { parseJson } from '#shared/protocol/parse-json.ts';
import { listFirst } from '#shared/text/list-first.ts';
import { quoteForShell } from '#shared/text/quote-for-shell.ts';

const FOLDERS = ['terraform', 'dist/functions', 'infra', 'examples/digits'];

/** Recognizes the files that are deployed: a checkout has others in the same folders, settings and state among them. */
const DEPLOYED =
  /^(?!.*(\.\.|\\|\/outputs\/|\.pkrvars|\/\.(?!terraform\.lock)))(terraform\/.*\.(tf|md)|terraform\/\.terraform\.lock\.hcl|dist\/functions\/[^/]+\.(zip|pyz)|(infra\/machine-image|examples\/digits)\/(?!.*(__pycache__|\.egg-info|\.ts$)).*|infra\/vm-agent\/vm_agent\/paths\/hook\.py)$/s;

const LOCK_FILE = 'terraform/.terraform.lock.hcl';

/** Written once, and then the user's: state and saved plans contain secrets. */
const IGNORED = '.terraform/\n*.tfstate*\n*.tfplan\nplan\n';

/** Lists the SHA-256 of each file as it was written, so that an update can tell what the user has changed. */
const MANIFEST = 'dropforge-files.json';

type Digests = ReadonlyMap<string, string>;

const manifestSchema = z.object({ version: z.string(), files: z.record(z.string(), z.string()) });

const PATHS_NAMED_MAX = 5;

export const deployFiles: Command = {
  operands: [{ name: 'DIR', summary: 'a new folder, or one that an earlier version has written', count: 'one' }],
  flags: [],
  example: 'my-deployment',
  notes: 'Writes the Terraform root, the built functions, the recipe of the machine image and an example.',
  async run({ io, operands: [given = ''], print }) {
    if (given === '') {
      throw new UsageFailure('DIR is empty: name a new folder, or one that an earlier version has written.');
    }
    const directory = resolve(io.cwd, given);
    if (await isFileOrInsideFile(directory)) {
      throw new Failure(`${directory} is a file or inside a file. Choose a new folder.`);
    }
    const before = await readManifest(directory);
    const files = await readDeployedFiles();
    await rejectChanged(directory, { files, before });
    for (const path of files.keys()) {
      await mkdir(dirname(join(directory, path)), { recursive: true });
      await copyFile(join(PRODUCT_ROOT, path), join(directory, path));
    }
    for (const path of [...before.keys()].filter((earlier) => !files.has(earlier))) {
      await rm(join(directory, path), { force: true });
    }
    await writeFile(join(directory, '.gitignore'), IGNORED, { flag: 'wx' }).catch(ignoreExisting);
    const { version } = packageFile;
    const manifest = { version, files: Object.fromEntries(files) };
    await writeFile(join(directory, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
    print({
      json: { directory, version, files: files.size },
      text: describeNext(shortenPath(io.cwd, directory), { count: files.size, isUpdate: before.size > 0 }),
    });
    return 0;
  },
};

/** Returns the files that an earlier version has written, if any. A repository can list others: they are left alone. */
async function readManifest(directory: string): Promise<Digests> {
  const bytes = await readPlain(directory, MANIFEST);
  const { data } = manifestSchema.safeParse(bytes === undefined ? { version: '', files: {} } : parseJson(`${bytes}`));
  if (data === undefined) {
    throw new Failure(`${directory} has a ${MANIFEST} that lists no files. Restore it, or choose a new folder.`);
  }
  return new Map(Object.entries(data.files).filter(([path]) => DEPLOYED.test(path)));
}

/** Reads a file of the folder; null if a link, which could lead out of it, or anything but a file is in its place. */
async function readPlain(directory: string, path: string): Promise<Uint8Array | null | undefined> {
  const names = path.split('/');
  for (const index of names.keys()) {
    const found = await lstat(join(directory, ...names.slice(0, index + 1))).catch(ignoreMissing);
    if (!(index === names.length - 1 ? found?.isFile() : found?.isDirectory())) {
      return found && null;
    }
  }
  return readFile(join(directory, path));
}

/** Returns the SHA-256 of each file by its path. */
async function readDeployedFiles(): Promise<Digests> {
  const files = new Map<string, string>();
  for (const folder of FOLDERS) {
    const entries = await readdir(join(PRODUCT_ROOT, folder), { recursive: true, withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      const path = relative(PRODUCT_ROOT, join(entry.parentPath, entry.name)).replaceAll(sep, '/');
      if (entry.isFile() && DEPLOYED.test(path)) {
        files.set(path, digestOf(await readFile(join(PRODUCT_ROOT, path))));
      }
    }
  }
  if (!files.has('dist/functions/agent.pyz')) {
    throw new Failure(`The functions are not built yet: run \`npm run build\` in ${PRODUCT_ROOT}.`);
  }
  return files;
}

/** Throws if a file would be replaced or deleted that is neither as it will be, nor as an earlier version wrote it. */
async function rejectChanged(
  directory: string,
  { files, before }: { readonly files: Digests; readonly before: Digests },
): Promise<void> {
  const changed: string[] = [];
  for (const path of new Set([...files.keys(), ...before.keys()])) {
    const bytes = await readPlain(directory, path);
    // `terraform init` adds to the lock file, and does so again.
    const isOwn = bytes === undefined || (path === LOCK_FILE && bytes !== null);
    if (!isOwn && (bytes === null || ![before.get(path), files.get(path)].includes(digestOf(bytes)))) {
      changed.push(path);
    }
  }
  if (changed.length > 0) {
    throw new Failure(
      `${directory} has files or links that are yours, or that you have changed: ${listFirst(changed, PATHS_NAMED_MAX)}. Nothing was written. Choose a new folder, or move your changes to files of other names, such as terraform/terraform.tfvars.`,
    );
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') {
    throw error;
  }
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function describeNext(directory: string, { count, isUpdate }: { count: number; isUpdate: boolean }): string {
  const written = `Wrote ${count} files of Dropforge ${packageFile.version} to ${directory}.`;
  const apply = 'terraform -chdir=terraform init && terraform -chdir=terraform apply';
  const commands = isUpdate
    ? [apply]
    : [
        'echo \'project_id = "MY-PROJECT"\' >> terraform/terraform.tfvars   # and other settings: terraform/README.md',
        apply,
        'terraform -chdir=terraform output -json deployment > deployment.json',
        `${bareProgramName()} --deployment deployment.json status`,
      ];
  return [`${written} To ${isUpdate ? 'update' : 'deploy'} it:`, `cd ${quoteForShell(directory)}`, ...commands].join(
    '\n  ',
  );
}
