import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { jobUpdatesMessageSchema } from '#shared/protocol/job-update.ts';
import { renderJobUpdateSchema, UPDATE_SCHEMA_URL, WRITE_UPDATE_SCHEMA_COMMAND } from './render-job-update-schema.ts';

const schema = JSON.parse(readFileSync(UPDATE_SCHEMA_URL, 'utf8')) as object;
const page = readFileSync(new URL('../../docs/job-updates.md', import.meta.url), 'utf8');
const examples = [...page.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, text = '']): unknown => JSON.parse(text));

describe('docs/job-updates.schema.json', () => {
  it('is up to date with the schema of the code', () => {
    expect(schema, `It is out of date: run \`${WRITE_UPDATE_SCHEMA_COMMAND}\`.`).toEqual(renderJobUpdateSchema());
  });

  it('accepts the examples of docs/job-updates.md, as the code does', () => {
    const validate = new Ajv2020({ strict: false }).compile(schema);
    expect(examples.length).toBeGreaterThanOrEqual(2);
    for (const example of examples) {
      expect(validate(example), JSON.stringify(validate.errors)).toBe(true);
      expect(jobUpdatesMessageSchema.parse(example)).toEqual(example);
    }
    expect(validate({ type: 'JOB_UPDATE', jobId: '1 is not valid', state: 'RUNNING', attempt: 1 })).toBe(false);
  });
});
