import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { PRODUCT_ROOT } from '#infra/product-root.ts';

const LOCKFILE = join(PRODUCT_ROOT, 'package-lock.json');
const FRAMEWORK = '@google-cloud/functions-framework';

/** The fields read from an entry of package-lock.json (npm docs, "package-lock.json", lockfileVersion 3). */
const packageSchema = z
  .looseObject({
    version: z.string().optional(),
    dependencies: z.record(z.string(), z.string()).default({}),
    optionalDependencies: z.record(z.string(), z.string()).default({}),
  })
  // All packages are for development in this project, and these are not in an archive's own.
  .transform(({ dev, ...entry }) => entry);

const lockfileSchema = z.object({ lockfileVersion: z.literal(3), packages: z.record(z.string(), packageSchema) });

type Packages = z.infer<typeof lockfileSchema>['packages'];

/**
 * The package.json and package-lock.json of a function's archive, which Cloud Functions requires (docs, "Write Node.js
 * functions", "Run custom build steps during deployment"). The bundle has no dependencies. The functions-framework that
 * starts it is installed in the versions that the tests use; otherwise, the buildpack would choose one.
 */
export async function buildManifests(name: string): Promise<Readonly<Record<string, Uint8Array>>> {
  const { lockfileVersion, packages } = lockfileSchema.parse(JSON.parse(await readFile(LOCKFILE, 'utf8')));
  const dependencies = { [FRAMEWORK]: packages[`node_modules/${FRAMEWORK}`]?.version ?? '' };
  const manifest = {
    name,
    main: 'index.js',
    engines: { node: '24' },
    scripts: { 'gcp-build': 'node compile.js' },
    dependencies,
  };
  const locked = [...listDependencies(packages, FRAMEWORK)].sort().map((path) => [path, packages[path]] as const);
  const lockfile = { name, lockfileVersion, packages: { '': { name, dependencies }, ...Object.fromEntries(locked) } };
  return { 'package.json': toJson(manifest), 'package-lock.json': toJson(lockfile) };
}

/** The paths in node_modules of a package and its transitive dependencies, as Node resolves them. */
function listDependencies(packages: Packages, name: string): ReadonlySet<string> {
  const found = new Set<string>();
  const pending = [resolvePath(packages, '', name)];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    if (!found.has(path)) {
      found.add(path);
      const { dependencies = {}, optionalDependencies = {} } = packages[path] ?? {};
      for (const dependency of Object.keys({ ...dependencies, ...optionalDependencies })) {
        pending.push(resolvePath(packages, path, dependency));
      }
    }
  }
  return found;
}

/** The path in node_modules of the dependent package or of the closest ancestor that has the dependency. */
function resolvePath(packages: Packages, from: string, name: string): string {
  const path = `${from}${from && '/'}node_modules/${name}`;
  if (path in packages) {
    return path;
  }
  if (from === '') {
    throw new Error(`package-lock.json has no entry for ${name}. Run npm install.`);
  }
  return resolvePath(packages, from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/'))), name);
}

function toJson(value: unknown): Uint8Array {
  return Buffer.from(`${JSON.stringify(value, null, 2)}\n`);
}
