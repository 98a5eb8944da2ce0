import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '#cli/commands.ts';
import { FUNCTION_NAMES } from '#functions/functions.ts';
import { anchorOf } from '../support/heading-anchor.ts';
import { type RepositoryFile, readRepository } from './repository-files.ts';

const README_BYTES_MAX = 10_240;

const files = readRepository();
const pages = files.filter(({ path }) => path.endsWith('.md') && !path.startsWith('test/fixtures/'));
const paths = new Set(files.map(({ path }) => path));
const folders = new Set(files.flatMap(({ path }) => ancestorsOf(path)));
const tops = new Set([...folders].filter((folder) => !folder.includes('/')));

function ancestorsOf(path: string): readonly string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

function exists(path: string): boolean {
  const plain = path.replace(/\/$/, '');
  return plain === '.' || paths.has(plain) || folders.has(plain);
}

/** The text without fenced code. */
function proseOf({ text }: RepositoryFile): string {
  return text.replaceAll(/^ *(```|~~~)[\s\S]*?^ *\1 *$/gm, '');
}

function headingsOf(page: RepositoryFile): readonly string[] {
  return [...proseOf(page).matchAll(/^#+ +(.*)$/gm)].map(([, heading]) => anchorOf(heading ?? ''));
}

function linksOf(page: RepositoryFile): readonly string[] {
  return [...proseOf(page).matchAll(/\[[^\]]*\]\(([^)\s]+)[^)]*\)/g)]
    .map(([, link]) => link ?? '')
    .filter((link) => !/^[a-z][a-z0-9+.-]*:/i.test(link));
}

function isAlive(page: RepositoryFile, link: string): boolean {
  const [target = '', anchor] = link.split('#');
  const path = target === '' ? page.path : posix.join(posix.dirname(page.path), decodeURI(target));
  const file = files.find((candidate) => candidate.path === path);
  return exists(path) && (anchor === undefined || (file !== undefined && headingsOf(file).includes(anchor)));
}

/** Paths of this repository in backticks: they begin with one of its folders. */
function pathsNamedIn(text: string): readonly string[] {
  return [...text.matchAll(/`([^`\s]+)`/g)]
    .map(([, name]) => (name ?? '').replace(/:\d+$/, ''))
    .filter((name) => /^[\w.@/-]+$/.test(name) && name.includes('/') && tops.has(name.split('/')[0] ?? ''));
}

describe('every page', () => {
  it.each(pages.map((page) => [page.path, page] as const))('%s has one title and no dead link or path', (_, page) => {
    expect([...proseOf(page).matchAll(/^# /gm)]).toHaveLength(1);
    expect(linksOf(page).filter((link) => !isAlive(page, link))).toEqual([]);
    expect(pathsNamedIn(proseOf(page)).filter((path) => !exists(path))).toEqual([]);
  });
});

describe('docs/adr', () => {
  const records = pages.filter(({ path }) => path.startsWith('docs/adr/'));

  it('has one decision for each number, without gaps', () => {
    const numbers = records.map(({ path }) => Number(/\/(\d{4})-/.exec(path)?.[1]));
    expect(numbers.toSorted((a, b) => a - b)).toEqual(records.map((_, index) => index + 1));
  });

  it('has the number of its file in the title of every decision', () => {
    const titles = records.map(({ path, text }) => [path, Number(/^# (\d+)\. /.exec(text)?.[1])]);
    expect(titles).toEqual(records.map(({ path }) => [path, Number(/\/(\d{4})-/.exec(path)?.[1])]));
  });

  it('is referred to by the number of the file that is linked', () => {
    const references = pages.flatMap(({ text }) => [...text.matchAll(/\[ADR\s+(\d+)\]\([^)\s]*?(\d{4})-[^)\s]*\)/g)]);
    expect(references.length).toBeGreaterThan(0);
    expect(references.filter(([, named, linked]) => Number(named) !== Number(linked))).toEqual([]);
  });
});

describe('ARCHITECTURE.md', () => {
  it('names for every guarantee a test that exists', () => {
    const text = files.find(({ path }) => path === 'ARCHITECTURE.md')?.text ?? '';
    const [, table = ''] = /^\| *guarantee[^\n]*\n\|[ |:-]+\n((?:\|[^\n]*\n)+)/im.exec(text) ?? [];
    const isHeading = (row: string): boolean => row.endsWith('** | | |');
    const rows = table.split('\n').filter((row) => row !== '' && !isHeading(row));
    expect(rows.length, 'rows of the table of guarantees').toBeGreaterThan(0);
    const unproven = rows.filter((row) => {
      const tests = pathsNamedIn(row).filter((path) => /(^|\/)tests?\//.test(path));
      return tests.length === 0 || tests.some((path) => !exists(path));
    });
    expect(unproven).toEqual([]);
  });
});

/** The commands that a row names; those after the first are of its group: `dropforge jobs list`, `describe NAME`. */
function commandsOf(cell: string): readonly string[] {
  const names = [...cell.matchAll(/`(?:dropforge )?([a-z -]+?)(?: [A-Z…-].*?)?`/g)].map(([, name]) => name ?? '');
  const group = (names[0] ?? '').split(' ').slice(0, -1);
  return names.map((name, index) => (index === 0 ? name : [...group, name].join(' ')));
}

function textOf(path: string): string {
  return files.find((file) => file.path === path)?.text ?? '';
}

describe('README.md', () => {
  it('has at most 10 KB: what is for one kind of reader has a page in docs', () => {
    const bytes = Buffer.byteLength(textOf('README.md'));
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThanOrEqual(README_BYTES_MAX);
  });
});

describe('docs/README.md', () => {
  it('lists every page of docs once', () => {
    const index = pages.filter(({ path }) => path === 'docs/README.md');
    const listed = index
      .flatMap((page) => [...page.text.matchAll(/^\| \[[^\]]*\]\(([^)#]+)\) \|/gm)])
      .map(([, link]) => link ?? '');
    const others = pages
      .filter(({ path }) => /^docs\/[^/]+\.md$/.test(path) && path !== 'docs/README.md')
      .map(({ path }) => posix.basename(path));
    expect(listed.filter((link) => !link.includes('/') && link !== 'adr').toSorted()).toEqual(others.toSorted());
  });
});

describe('docs/commands.md', () => {
  it('has exactly the commands of the CLI in its table', () => {
    const cells = [...textOf('docs/commands.md').matchAll(/^\| (`dropforge [^|]*)\|/gm)].map(([, cell]) => cell ?? '');
    expect(cells.flatMap(commandsOf).toSorted()).toEqual(COMMANDS.map(({ name }) => name).toSorted());
  });
});

describe('terraform/README.md', () => {
  it('counts the functions, without and with notifications', () => {
    const text = textOf('terraform/README.md');
    const [, without, all] = /(\d+) functions \((\d+)\s+with\s+`notifications`\)/.exec(text) ?? [];
    expect([Number(without), Number(all)]).toEqual([FUNCTION_NAMES.length - 1, FUNCTION_NAMES.length]);
  });
});
