import { basename, dirname, extname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findLines, type RepositoryFile, readRepository } from './repository-files.ts';

const LINES_MAX = 400;
const LINE_CHARACTERS_MAX = 120;
const FUNCTION_LINES_MAX = 50;
const FILE_BYTES_MAX = 2 ** 20;

// The names that a newcomer sees first, among which a file that a test has left shows.
const ROOT_FOLDERS = '.ci .githooks .github bench cli dashboard docs examples functions infra shared terraform test';
const ROOT_FILES =
  '.editorconfig .gitignore .nvmrc ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md LICENSE README.md SECURITY.md' +
  ' biome.json package-lock.json package.json pyrightconfig.json tsconfig.json vitest.config.ts';

const files = readRepository();
const code = files.filter(({ path }) => /\.(tsx?|py|sh|css)$/.test(path) && !path.startsWith('test/fixtures/'));
const typescript = code.filter(({ path }) => /\.tsx?$/.test(path));
const python = code.filter(({ path }) => path.endsWith('.py'));
const agent = python.filter(({ path }) => path.startsWith('infra/vm-agent/vm_agent/'));

describe('the files', () => {
  it('are found', () => {
    expect(typescript.length).toBeGreaterThan(100);
    expect(code.some(({ path }) => path.endsWith('.py'))).toBe(true);
  });

  it(`have at most ${LINES_MAX} lines of code, tests included`, () => {
    const tooLong = code
      .map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
      .filter(({ lines }) => lines > LINES_MAX);
    expect(tooLong).toEqual([]);
  });

  it(`have lines of at most ${LINE_CHARACTERS_MAX} characters, except for single strings`, () => {
    const tooLong = code.flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, index) => (widthOf(line) > LINE_CHARACTERS_MAX ? [`${path}:${index + 1}`] : [])),
    );
    expect(tooLong).toEqual([]);
  });

  it(`have functions of at most ${FUNCTION_LINES_MAX} lines in Python, as biome.json has it for TypeScript`, () => {
    const functions = python.flatMap(({ path, text }) =>
      [...text.matchAll(/^( *)(?:async )?def (\w+)\((?:.*\n)(?:(?:\1 .*|\1\).*|)\n)*/gm)].map(([body, , name]) => ({
        lines: body.trimEnd().split('\n').length,
        shown: `${path}: ${name}`,
      })),
    );
    expect(functions.length).toBeGreaterThan(1_000);
    expect(functions.filter(({ lines }) => lines > FUNCTION_LINES_MAX)).toEqual([]);
  });

  it('have at most 1 MiB', () => {
    expect(files.filter(({ sizeBytes }) => sizeBytes > FILE_BYTES_MAX).map(({ path }) => path)).toEqual([]);
  });

  it('are named in kebab case, and Python modules in snake case', () => {
    const named = files.filter(({ path }) => !path.startsWith('test/fixtures/'));
    expect(named.filter(({ path }) => !isWellNamed(path)).map(({ path }) => path)).toEqual([]);
  });

  it('are not named utils, helpers or the like', () => {
    const empty = /^(utils?|helpers?|common|misc|types|manager|shared|index)\./;
    expect(files.filter(({ path }) => empty.test(basename(path))).map(({ path }) => path)).toEqual([]);
  });

  it('lie in the known folders, or are those that a tool wants at the root', () => {
    const names = new Set(files.map(({ path }) => path.split('/')[0] ?? path));
    expect([...names].sort()).toEqual(`${ROOT_FOLDERS} ${ROOT_FILES}`.split(' ').sort());
  });

  it('re-export nothing', () => {
    expect(findAll(typescript, /^export (type )?(\*|\{[^}]*\}) from /)).toEqual([]);
  });
});

// Written so that these patterns are not found in this file.
describe('the code', () => {
  it.each<[string, RegExp]>([
    ['has no unfinished parts', /\b(TO[D]O|FI[X]ME|XX[X])\b/],
    ['mocks no module of its own', /\bvi[.](mock|doMock|hoisted)\b/],
    ['skips no test', /\b(it|test|describe)[.](skip|only|todo|fails)\b/],
    ['uses no fake timers', /useFakeTimer[s]|advanceTimer[s]/],
    ['uses no snapshots', /toMatch(Inline)?Snapsho[t]/],
    ['does not write to the console', /\bconsole[.](log|info|warn|error|debug)\b/],
    ['suppresses no check', /@ts-(ignor[e]|nochec[k]|expect-erro[r])|biome-ignor[e]|eslint-disabl[e]/],
  ])('%s', (_, pattern) => {
    expect(findAll(code, pattern)).toEqual([]);
  });

  it('makes every check of intake: each is a row of the table', () => {
    const names = typescript.flatMap(({ text }) =>
      [...text.matchAll(/^export const (check\w+): Check = /gm)].map(([_, name]) => name),
    );
    const table = textOf('shared/use-cases/intake/checks/all-checks.ts');
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !table.includes(`{ check: ${name}`))).toEqual([]);
  });

  it('has no code of a check of intake that no test expects', () => {
    const checks = files.filter(({ path }) => path.startsWith('shared/use-cases/intake/checks/'));
    const codes = checks.flatMap(({ text }) => [...text.matchAll(/\bcode: '([A-Z_]+)'/g)].map(([, code = '']) => code));
    const tests = typescript.filter(({ path }) => path.startsWith('test/'));
    const expected = new Set(tests.flatMap(({ text }) => text.match(/\b[A-Z_]{2,}\b/g) ?? []));
    expect(codes.length).toBeGreaterThan(30);
    expect(codes.filter((code) => !expected.has(code))).toEqual([]);
  });

  it('has the columns of tables as data: no header without its cells, and no cells without their header', () => {
    const tables = files.filter(({ path }) => /^dashboard\/.*\.tsx$/.test(path) && !path.endsWith('/data-table.tsx'));
    expect(findAll(tables, /<th\b|<td\b(?! colSpan)/)).toEqual([]);
  });

  it('has a width for every column of the list of jobs, by its class', () => {
    const list = 'dashboard/screens/jobs';
    const [, columns = ''] =
      /^export const JOB_COLUMNS[^[]*\[\] = \[\n([\s\S]*?)^\];$/m.exec(textOf(`${list}/job-row.tsx`)) ?? [];
    const classes = [...columns.matchAll(/\bclass: '(job-[a-z]+)/g)].map(([, name = '']) => name);
    expect(classes).toHaveLength([...columns.matchAll(/\bheader: /g)].length);
    const widths = [...textOf(`${list}/jobs.css`).matchAll(/^\.jobs-table th\.(job-[a-z]+) \{ width: /gm)];
    expect(widths.map(([, name]) => name)).toEqual(classes);
  });

  it('calls in a contract every method of the ports that have one', () => {
    const contracts = files.filter(({ path }) => path.startsWith('test/contract/')).map(({ text }) => text);
    const ported = contracts
      .flatMap((text) => [...text.matchAll(/'#(shared\/ports\/[a-z-]+\.ts)'/g)])
      .map(([, path]) => path);
    const methods = files
      .filter(({ path }) => ported.includes(path))
      .flatMap(({ text }) => [...text.matchAll(/^ {2}([a-z]\w+)\(/gm)].map(([, name = '']) => name))
      .filter((name) => name !== 'constructor');
    expect(methods.length).toBeGreaterThan(20);
    const calls = new Set(contracts.flatMap((text) => [...text.matchAll(/\.(\w+)\(/g)].map(([, name]) => name)));
    expect(methods.filter((name) => !calls.has(name))).toEqual([]);
  });

  it('names no path outside the repository', () => {
    // The only file that reads beside the checkout.
    const others = files.filter(({ path }) => path !== 'test/corpus/read-corpus.ts');
    expect(findAll(others, /(^|[\s'"`(=:])\/wor[k]\/|share[d]\/(facts|corpus|sketch|DESIGN)\b|\bfar[m]-/)).toEqual([]);
  });

  it('has all dependencies from the public registry, with checksums', () => {
    const lock = files.find(({ path }) => path === 'package-lock.json')?.text ?? '{}';
    const { packages } = JSON.parse(lock) as { packages: Record<string, { resolved?: string; integrity?: string }> };
    const installed = Object.entries(packages).filter(([path]) => path !== '');
    expect(installed.length).toBeGreaterThan(0);
    const others = installed.filter(
      ([, { resolved, integrity }]) =>
        integrity === undefined || resolved?.startsWith('https://registry.npmjs.org/') === false,
    );
    expect(others).toEqual([]);
  });
});

describe('an option of the program', () => {
  const config = agent.find(({ path }) => path.endsWith('/control/config.py'))?.text ?? '';
  const [, fields = ''] = /^class ProgramOptions:\n((?:(?: .*)?\n)+)/m.exec(config) ?? [];
  const options = [...fields.matchAll(/^ {4}(\w+):/gm)].map(([, name = '']) => name);
  const launchers = agent.filter(({ path }) => /\/(python|container)_launcher\.py$/.test(path));
  const others = agent.filter((file) => !launchers.includes(file) && !file.path.endsWith('/control/config.py'));

  it.each(options)('is applied by the agent to modules and containers: %s', (name) => {
    const reads = ({ text }: RepositoryFile) => new RegExp(`\\boptions\\.${name}\\b`).test(text);
    expect([launchers.length, others.some(reads) || launchers.every(reads)]).toEqual([2, true]);
  });
});

function textOf(path: string): string {
  return files.find((file) => file.path === path)?.text ?? '';
}

function findAll(among: readonly RepositoryFile[], pattern: RegExp): readonly string[] {
  return among.flatMap((file) => findLines(file, pattern));
}

/** The width without what the formatter cannot break: strings, URLs and regular expressions. */
function widthOf(line: string): number {
  if (line.length <= LINE_CHARACTERS_MAX) {
    return line.length;
  }
  return line
    .replaceAll(/'(\\.|[^'\\])*'|`[^`]*`|"(\\.|[^"\\])*"|https?:\/\/\S+|\/(\\.|[^/\\])+\/[a-z]*/g, "''")
    .replace(/`.*$/, '').length;
}

function isWellNamed(path: string): boolean {
  const name = basename(path);
  const folders = dirname(path) === '.' ? [] : dirname(path).split('/');
  const kebab = /^\.?[a-z0-9]+(-[a-z0-9]+)*$/;
  const snake = /^[a-z0-9_]+$/;
  const isNamed =
    extname(name) === '.py'
      ? snake.test(name.slice(0, -'.py'.length))
      : /^(\.?[a-z0-9]+([-.][a-z0-9]+)*|[A-Z]+(\.md)?|MANIFEST\.in|Dockerfile)$/.test(name);
  // GitHub prescribes the last name.
  return isNamed && folders.every((part) => kebab.test(part) || snake.test(part) || part === 'ISSUE_TEMPLATE');
}
