import { describe, expect, it } from 'vitest';
import { type Import, listImports } from './import-graph.ts';
import { findLines, readRepository } from './repository-files.ts';

const files = readRepository();
const imports = listImports(files);

/** The only files that build adapters for everybody and may read the environment. */
const COMPOSITION_ROOTS =
  /^(cli\/main|infra\/tools\/refresh-catalog\/refresh-catalog|infra\/google-cloud\/entrypoints\/[a-z-]+)\.ts$/;

/** Arrows point inwards: a file imports from its own rank and those before it. */
const RANKS: readonly (readonly string[])[] = [
  ['shared/domain/', 'shared/text/'],
  ['shared/ports/', 'shared/protocol/', 'shared/catalog/', 'shared/observability/'],
  ['shared/package/'],
  ['shared/job-file/'],
  ['shared/use-cases/'],
  ['shared/api/'],
  ['functions/', 'infra/'],
  ['cli/'],
  ['bench/', 'test/', 'vitest.config.ts'],
];

function rankOf(path: string): number {
  return RANKS.findIndex((folders) => folders.some((folder) => path.startsWith(folder)));
}

function show({ from, specifier }: Import): string {
  return `${from} imports ${specifier}`;
}

function within(folder: string): readonly Import[] {
  const found = imports.filter(({ from }) => from.startsWith(folder));
  expect(found.length, `imports of ${folder}`).toBeGreaterThan(0);
  return found;
}

describe('imports', () => {
  it('lead to files that exist', () => {
    const paths = new Set(files.map(({ path }) => path));
    expect(imports.filter(({ to }) => to !== null && !paths.has(to)).map(show)).toEqual([]);
  });

  it('point inwards', () => {
    const unranked = new Set(imports.map(({ from }) => from).filter((path) => rankOf(path) < 0));
    expect([...unranked]).toEqual([]);
    const outward = imports.filter(({ from, to }) => to !== null && rankOf(to) > rankOf(from));
    expect(outward.map(show)).toEqual([]);
  });

  it('keep the domain pure: it knows nothing but itself', () => {
    expect(
      within('shared/domain/')
        .filter(({ to }) => !to?.startsWith('shared/domain/'))
        .map(show),
    ).toEqual([]);
  });

  it('keep Google’s libraries out of everything that is shared', () => {
    const google = within('shared/').filter(({ specifier }) =>
      /^(@google-cloud|googleapis|google-auth-library|firebase)/.test(specifier),
    );
    expect(google.map(show)).toEqual([]);
  });

  it('keep adapters out of functions: only a composition root knows them', () => {
    const adapters = within('functions/').filter(
      ({ from, to }) => to?.startsWith('infra/') && !COMPOSITION_ROOTS.test(from),
    );
    expect(adapters.map(show)).toEqual([]);
  });

  it('across folders name the folder, and never climb', () => {
    const climbing = imports.filter(
      ({ from, specifier }) => specifier.startsWith('../') && rankOf(from) < rankOf('test/'),
    );
    expect(climbing.map(show)).toEqual([]);
  });

  it('use every file that is there', () => {
    const manifest = files.find(({ path }) => path === 'package.json')?.text ?? '';
    const used = new Set(imports.filter(({ from }) => !from.startsWith('test/')).map(({ to }) => to));
    // What starts an archive is built for it alone (infra/tools/bundle-functions/bundle-function.ts).
    const isArchived = (path: string) => /^infra\/tools\/bundle-functions\/archive\/(start|compile)\.ts$/.test(path);
    const isEntry = (path: string) => COMPOSITION_ROOTS.test(path) || isArchived(path) || manifest.includes(path);
    const dead = files
      .map(({ path }) => path)
      .filter((path) => /^(shared|infra|functions|cli|bench)\/.*\.ts$/.test(path) && !used.has(path) && !isEntry(path));
    expect(dead).toEqual([]);
  });
});

describe('the environment', () => {
  it('is read by composition roots alone', () => {
    const readers = files
      .filter(({ path }) => /^(shared|infra|functions|cli)\/.*\.ts$/.test(path) && !COMPOSITION_ROOTS.test(path))
      .flatMap((file) => findLines(file, /process\.env\b|from 'node:process'/));
    expect(readers).toEqual([]);
  });
});
