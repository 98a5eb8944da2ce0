import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { JOB_FIELDS } from '#shared/job-file/formats/dropforge/fields.ts';
import { PAGE_URL, renderJobSchema, renderPage, SCHEMA_URL, WRITE_COMMAND } from './render-job-file-reference.ts';

it('job.schema.json is up to date with the table of fields', () => {
  const schema: unknown = JSON.parse(readFileSync(SCHEMA_URL, 'utf8'));
  expect(schema, `job.schema.json is out of date: run \`${WRITE_COMMAND}\`.`).toEqual(
    JSON.parse(JSON.stringify(renderJobSchema())),
  );
});

it('docs/job-file.md is up to date with the table of fields', () => {
  const page = readFileSync(PAGE_URL, 'utf8');
  expect(page === renderPage(page), `docs/job-file.md is out of date: run \`${WRITE_COMMAND}\`.`).toBe(true);
});

it('docs/job-file.md has every field in an example', () => {
  const blocks = [...readFileSync(PAGE_URL, 'utf8').matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([block]) => block);
  const isShown = (name: string) => blocks.some((block) => new RegExp(`^${name}:\\s`, 'm').test(block));
  expect(Object.keys(JOB_FIELDS).filter((name) => !isShown(name))).toEqual([]);
});
