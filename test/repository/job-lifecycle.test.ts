import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { CAUSES } from '#shared/domain/cause.ts';
import { EXIT_REASONS } from '#shared/domain/exit-report.ts';
import { RULES } from '#shared/domain/rules/transition.ts';
import { RULES as TUNING_RULES } from '#shared/tuning/rules/transition.ts';
import { renderJobLifecycle, WRITE_COMMAND } from './render-job-lifecycle.ts';
import { readRepository } from './repository-files.ts';

const readPage = (name: string) => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');

function pairsOf(rules: Readonly<Record<string, object>>): readonly string[] {
  return Object.entries(rules).flatMap(([status, byType]) => Object.keys(byType).map((type) => `${status} × ${type}`));
}

it('is up to date with the rules', async () => {
  const isCurrent = readPage('job-lifecycle.md') === (await renderJobLifecycle());
  expect(isCurrent, `docs/job-lifecycle.md is out of date: run \`${WRITE_COMMAND}\`.`).toBe(true);
});

it('has a row for every rule, with a sentence, and a remedy for every cause', () => {
  const page = readPage('job-lifecycle.md');
  const rows = [...page.matchAll(/^\| ([A-Z, ]+) \| ([`A-Z_, ]+) \| \S.*\. \|$/gm)];
  const pairs = rows.flatMap(([, statuses = '', types = '']) =>
    statuses.split(', ').flatMap((status) => types.split(', ').map((type) => `${status} × ${type.slice(1, -1)}`)),
  );
  expect(pairs.toSorted()).toEqual(pairsOf(RULES).toSorted());
  const causes = [...page.matchAll(/`([A-Z_]+)`: \S/g)].map(([, code]) => code);
  expect(causes.toSorted()).toEqual(Object.keys(CAUSES).toSorted());
});

it('has causes that something produces', () => {
  const code = readRepository().filter(
    ({ path }) => /^(shared|functions|infra)\/.*\.ts$/.test(path) && path !== 'shared/domain/cause.ts',
  );
  // A comparison, a case and a type only read a cause.
  const produced = code.flatMap(({ text }) =>
    [...text.matchAll(/'([A-Z_]{4,})'|\b([A-Z_]{4,}):/g)]
      .filter(({ index }) => !/([!=]== |case |\| )$/.test(text.slice(Math.max(0, index - 5), index)))
      .map(([, quoted, key]) => quoted ?? key),
  );
  const names = new Set(produced);
  expect(Object.keys(CAUSES).filter((cause) => !names.has(cause))).toEqual([]);
});

it('has exit reasons that the agent reports, and that have a test of their cause', () => {
  const files = readRepository().filter(({ path }) => !path.endsWith('/program/exit_report.py'));
  const missingIn = (folder: string, before = '') => {
    const texts = files.filter(({ path }) => path.startsWith(folder)).map(({ text }) => text);
    return EXIT_REASONS.filter((reason) => !texts.some((text) => text.includes(`${before}'${reason}'`)));
  };
  expect(missingIn('infra/vm-agent/vm_agent/')).toEqual([]);
  expect(missingIn('test/unit/', 'reason: ')).toEqual([]);
});

it('has every rule of tunings in the diagram of docs/tuning.md', () => {
  const [, diagram = ''] = /```mermaid\n(stateDiagram[^`]*)```/.exec(readPage('tuning.md')) ?? [];
  const pairs = [...diagram.matchAll(/^ {2}([A-Z]+) --> [A-Z]+: (.+)$/gm)].flatMap(([, status = '', types = '']) =>
    types.split('<br/>').map((type) => `${status} × ${type}`),
  );
  expect([...new Set(pairs)].toSorted()).toEqual(pairsOf(TUNING_RULES).toSorted());
});
