import { readFileSync } from 'node:fs';
import type { Field, JobField } from '#shared/job-file/fields/field.ts';
import { mappingSchema } from '#shared/job-file/fields/field.ts';
import { DURATION_SCHEMA } from '#shared/job-file/formats/dropforge/durations.ts';
import { JOB_FIELDS } from '#shared/job-file/formats/dropforge/fields.ts';
import { gpuSchemas } from '#shared/job-file/formats/dropforge/gpus.ts';
import { HEALTH_ROWS, healthSchemas } from '#shared/job-file/formats/dropforge/health-fields.ts';
import { machineSchemas } from '#shared/job-file/formats/dropforge/machines.ts';
import { TUNE_FIELDS, tuneSchemas } from '#shared/job-file/tuning/tune-fields.ts';

/** Writes job.schema.json and the table of docs/job-file.md. */
export const WRITE_COMMAND = 'npm run job-file:write';

export const SCHEMA_URL = new URL('../../shared/job-file/formats/dropforge/job.schema.json', import.meta.url);
export const PAGE_URL = new URL('../../docs/job-file.md', import.meta.url);

/** job.schema.json: the JSON Schema of Dropforge's own format, for editors. */
export function renderJobSchema(): unknown {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Dropforge job',
    description: "A training job in Dropforge's own format.",
    ...mappingSchema(JOB_FIELDS),
    $defs: { duration: DURATION_SCHEMA, ...gpuSchemas(), ...machineSchemas(), ...tuneSchemas(), ...healthSchemas() },
  };
}

const TABLE_START =
  '<!-- Generated from shared/job-file/formats/dropforge/fields.ts by `npm run job-file:write`. -->\n\n';
const TABLE_END = '\n<!-- End of the generated table. -->';

/** docs/job-file.md with the table of fields replaced. Throws if the page has no markers. */
export function renderPage(page = readFileSync(PAGE_URL, 'utf8')): string {
  const [start, end] = [page.indexOf(TABLE_START), page.indexOf(TABLE_END)];
  if (start < 0 || end < start) {
    throw new Error('docs/job-file.md does not have the comments around the generated table.');
  }
  return `${page.slice(0, start)}${TABLE_START}${renderTable()}${page.slice(end)}`;
}

function renderTable(): string {
  const tune = Object.entries<Field>(TUNE_FIELDS).map(([name, row]) => renderRow(`tune.${name}`, row));
  const health = Object.entries<Field>(HEALTH_ROWS).map(([name, row]) => renderRow(`health.${name}`, row));
  const job = Object.entries<JobField>(JOB_FIELDS).flatMap(([name, row]) => [
    renderRow(name, row),
    ...(name === 'tune' ? tune : []),
    ...(name === 'health' ? health : []),
  ]);
  return ['| field | type | description | default |', '| --- | --- | --- | --- |', ...job, ''].join('\n');
}

function renderRow(name: string, { type, description, omitted }: Field): string {
  return `| \`${name}\` | ${type} | ${description} | ${omitted} |`;
}
