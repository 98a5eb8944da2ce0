import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Import, listImports } from './import-graph.ts';
import { findLines, readRepository } from './repository-files.ts';

const files = readRepository();
const imports = listImports(files);

/** The only files that may read the environment; `infra/embedded` is composed by the CLI's root. */
const COMPOSITION_ROOTS =
  /^(cli\/main|infra\/tools\/refresh-catalog\/refresh-catalog|infra\/google-cloud\/compose\/(entrypoints|start-function))\.ts$/;

/** The folders of ARCHITECTURE.md's list of layers, each with the number of its line. */
const LAYERS: ReadonlyMap<string, number> = readLayers();

function readLayers(): ReadonlyMap<string, number> {
  const page = files.find(({ path }) => path === 'ARCHITECTURE.md')?.text ?? '';
  const [, list = ''] = /^```layers\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const lines = list.split('\n').filter((line) => line !== '');
  return new Map(lines.flatMap((line, rank) => line.split(/\s+/).map((folder) => [folder, rank] as const)));
}

/** The listed folder that a file belongs to: the longest one; undefined for files in the root and unlisted folders. */
function layerOf(path: string): string | undefined {
  const ancestors = path.split('/').map((_, index, parts) => parts.slice(0, index).join('/'));
  return ancestors.findLast((folder) => LAYERS.has(folder));
}

function folderOf(path: string): string {
  return posix.dirname(path);
}

/** The two folders at which the paths diverge: `a/b` and `a/c` for `a/b/d/e.ts` and `a/c/f.ts`; equal if one holds both. */
function divergingFolders(from: string, to: string): readonly [string, string] {
  const [source, target] = [folderOf(from).split('/'), folderOf(to).split('/')];
  const index = source.findIndex((name, position) => name !== target[position]);
  const isNested = index < 0 || target[index] === undefined;
  return isNested ? ['', ''] : [source.slice(0, index + 1).join('/'), target.slice(0, index + 1).join('/')];
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

  it('lead from every folder to folders of earlier layers', () => {
    expect(LAYERS.size).toBeGreaterThan(15);
    const unlisted = imports.filter(({ from }) => from.includes('/') && layerOf(from) === undefined);
    expect(unlisted.map(show)).toEqual([]);
    const against = imports.filter(({ from, to }) => {
      const [source = '', target] = [layerOf(from), to === null ? undefined : layerOf(to)];
      const isOutside = target !== undefined && target !== source;
      return from.includes('/') && isOutside && (LAYERS.get(target) ?? 0) >= (LAYERS.get(source) ?? -1);
    });
    expect(against.map(show)).toEqual([]);
  });

  it('form no cycle between folders at any level', () => {
    const product = imports.filter(({ from, to }) => to?.includes('/') && !from.startsWith('test/'));
    const next = new Map<string, Set<string>>();
    for (const { from, to } of product) {
      for (const [source, target] of [
        [folderOf(from), folderOf(to ?? '')],
        divergingFolders(from, to ?? ''),
      ] as const) {
        if (source !== target) {
          next.set(source, (next.get(source) ?? new Set()).add(target));
        }
      }
    }
    expect(next.size).toBeGreaterThan(20);
    expect([...next.keys()].filter((folder) => reaches(next, folder, folder))).toEqual([]);
  });

  it.each(['shared/domain/', 'shared/machine/'])('of %s lead to the folder itself, and to schemas', (folder) => {
    const others = within(folder).filter(({ to, specifier }) => !to?.startsWith(folder) && specifier !== 'zod');
    expect(others.map(show)).toEqual([]);
  });

  it('form no cycle between files, those of types included', () => {
    const next = new Map<string, Set<string>>();
    for (const { from, to } of imports) {
      next.set(from, (next.get(from) ?? new Set()).add(to ?? ''));
    }
    expect([...next.keys()].filter((path) => reaches(next, path, path))).toEqual([]);
  });

  it('of shared/ name no Google library', () => {
    const google = within('shared/').filter(({ specifier }) =>
      /^(@google-cloud|googleapis|google-auth-library|firebase)/.test(specifier),
    );
    expect(google.map(show)).toEqual([]);
  });

  it('of functions/ name no adapter: each cloud composes the functions itself', () => {
    expect(
      within('functions/')
        .filter(({ to }) => to?.startsWith('infra/'))
        .map(show),
    ).toEqual([]);
  });

  it('across folders use the alias of the folder, never a path upwards', () => {
    const climbing = imports.filter(
      ({ from, specifier }) => specifier.startsWith('../') && !/^(test|bench)\//.test(from),
    );
    expect(climbing.map(show)).toEqual([]);
  });

  it('name Zod as a namespace, of which the bundles of functions have only what is used', () => {
    expect(files.flatMap((file) => findLines(file, /^import (type )?\{.*\bz\b.*\} from 'zod'/))).toEqual([]);
  });

  it('use every file', () => {
    const manifest = files.find(({ path }) => path === 'package.json')?.text ?? '';
    const page = files.find(({ path }) => path === 'dashboard/page.html')?.text ?? '';
    const scripts = files.find(({ path }) => path === 'CONTRIBUTING.md')?.text ?? '';
    const used = new Set(imports.filter(({ from }) => !from.startsWith('test/')).map(({ to }) => to));
    // The scripts that start an archive are built into it alone (infra/tools/bundle-functions/bundle-function.ts).
    const isArchived = (path: string) => /^infra\/tools\/bundle-functions\/archive\/(start|compile)\.ts$/.test(path);
    const isEntry = (path: string) =>
      COMPOSITION_ROOTS.test(path) ||
      isArchived(path) ||
      manifest.includes(path) ||
      page.includes(`{{${path}}}`) ||
      scripts.includes(`npx node ${path}`);
    const dead = files
      .map(({ path }) => path)
      .filter(
        (path) =>
          /^(shared|infra|functions|cli|bench|dashboard)\/.*\.tsx?$/.test(path) && !used.has(path) && !isEntry(path),
      );
    expect(dead).toEqual([]);
  });
});

function reaches(next: ReadonlyMap<string, ReadonlySet<string>>, from: string, to: string): boolean {
  const seen = new Set<string>();
  const open = [from];
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    for (const target of next.get(folder) ?? []) {
      if (target === to) {
        return true;
      }
      if (!seen.has(target)) {
        seen.add(target);
        open.push(target);
      }
    }
  }
  return false;
}

describe('the tree of ARCHITECTURE.md', () => {
  const page = files.find(({ path }) => path === 'ARCHITECTURE.md')?.text ?? '';
  const [, tree = ''] = /^## The tree\n\n```\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const folders = new Set(
    files.flatMap(({ path }) => path.split('/').map((_, end, names) => names.slice(0, end).join('/'))),
  );

  /** The folders that the tree names: those at the start of a line, and below them those in its text. */
  function listNamed(): ReadonlySet<string> {
    const named = new Set<string>();
    let [root, parent] = ['', ''];
    for (const [, indent = '', name, text = ''] of tree.matchAll(/^( *)(?:([a-z-]+)\/)?(.*)$/gm)) {
      if (name !== undefined && indent.length <= 2) {
        root = indent === '' ? name : root;
        parent = indent === '' ? name : `${root}/${name}`;
        named.add(parent);
      }
      for (const [, word = ''] of `${indent.length > 2 && name !== undefined ? `${name}/` : ''}${text}`.matchAll(
        /(?<![\w/-])([a-z-]+)\/(?=[\s,:]|$)/g,
      )) {
        const below = [`${parent}/${word}`, `${root}/${word}`, word].find((path) => folders.has(path));
        named.add(below ?? `${parent}/${word}`);
      }
    }
    return named;
  }

  it('names folders that exist', () => {
    expect(listNamed().size).toBeGreaterThan(50);
    expect([...listNamed()].filter((path) => !folders.has(path))).toEqual([]);
  });

  it.each(['', 'shared/', 'infra/', 'infra/tools/', 'cli/', 'dashboard/', 'shared/use-cases/'])(
    'names every folder of %s',
    (parent) => {
      const children = [...folders].filter(
        (path) => path.startsWith(parent) && /^[a-z-]+$/.test(path.slice(parent.length)),
      );
      const named = listNamed();
      expect(children.filter((path) => !named.has(path))).toEqual([]);
    },
  );
});

describe('the environment', () => {
  it('is read by composition roots only', () => {
    const readers = files
      .filter(
        ({ path }) => /^(shared|infra|functions|cli|dashboard)\/.*\.tsx?$/.test(path) && !COMPOSITION_ROOTS.test(path),
      )
      .flatMap((file) => findLines(file, /process\.env\b|from 'node:process'/));
    expect(readers).toEqual([]);
  });
});
