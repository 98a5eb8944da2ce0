import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
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
