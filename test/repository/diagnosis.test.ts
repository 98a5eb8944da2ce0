import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { LABELS, type Label, linkToLabel } from '#shared/diagnosis/rules/labels.ts';
import { renderDiagnosis, WRITE_COMMAND } from './render-diagnosis.ts';

const page = readFileSync(new URL('../../docs/diagnosis.md', import.meta.url), 'utf8');

it('is up to date with the rules', () => {
  expect(page === renderDiagnosis(), `docs/diagnosis.md is out of date: run \`${WRITE_COMMAND}\`.`).toBe(true);
});

it('has the section that a diagnosis links to', () => {
  const missing = (Object.keys(LABELS) as Label[]).filter((label) => {
    const [file, anchor] = linkToLabel(label).split('#');
    return file !== 'docs/diagnosis.md' || !page.includes(`\n## ${anchor}\n`);
  });
  expect(missing).toEqual([]);
});
