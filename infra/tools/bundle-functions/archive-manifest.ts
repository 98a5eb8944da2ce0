import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const LOCKFILE = fileURLToPath(new URL('../../../package-lock.json', import.meta.url));
const FRAMEWORK = '@google-cloud/functions-framework';

/** An entry of a package-lock.json (docs, "package-lock.json", lockfileVersion 3), as far as it is read here. */
const packageSchema = z.looseObject({
  version: z.string().optional(),
  dependencies: z.record(z.string(), z.string()).default({}),
  optionalDependencies: z.record(z.string(), z.string()).default({}),
});

const lockfileSchema = z.object({ lockfileVersion: z.literal(3), packages: z.record(z.string(), packageSchema) });

type Packages = z.infer<typeof lockfileSchema>['packages'];

/**
 * The package.json and package-lock.json of one function's archive: what Cloud Functions looks for (docs, "Write
 * Node.js functions", "Run custom build steps during deployment"). The bundle needs nothing; the functions-framework
 * that starts it is installed there in the very versions that it is tested with here, where the buildpack would take
 * one of its own.
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
  const locked = [...listNeeded(packages, FRAMEWORK)].sort().map((path) => [path, packages[path]] as const);
  const lockfile = { name, lockfileVersion, packages: { '': { name, dependencies }, ...Object.fromEntries(locked) } };
  return { 'package.json': toJson(manifest), 'package-lock.json': toJson(lockfile) };
}

/** The places in node_modules of a package and of all that it needs, each where Node would find it. */
function listNeeded(packages: Packages, name: string): ReadonlySet<string> {
  const needed = new Set<string>();
  const waiting = [findPlace(packages, '', name)];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (!needed.has(path)) {
      needed.add(path);
      const { dependencies = {}, optionalDependencies = {} } = packages[path] ?? {};
      for (const each of Object.keys({ ...dependencies, ...optionalDependencies })) {
        waiting.push(findPlace(packages, path, each));
      }
    }
  }
  return needed;
}

/** In the node_modules of whoever asks, or of the one whose node_modules that is in, and so on. */
function findPlace(packages: Packages, from: string, name: string): string {
  const path = `${from}${from && '/'}node_modules/${name}`;
  if (path in packages) {
    return path;
  }
  if (from === '') {
    throw new Error(`The package-lock.json has no ${name}: run npm install.`);
  }
  return findPlace(packages, from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/'))), name);
}

function toJson(value: unknown): Uint8Array {
  return Buffer.from(`${JSON.stringify(value, null, 2)}\n`);
}
