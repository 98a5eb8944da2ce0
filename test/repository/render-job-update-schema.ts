import * as z from 'zod';
import { jobUpdateSchema, uploadRefusedSchema } from '#shared/protocol/job-update.ts';

export const UPDATE_SCHEMA_URL = new URL('../../docs/job-updates.schema.json', import.meta.url);

export const WRITE_UPDATE_SCHEMA_COMMAND = 'npx node test/repository/write-job-update-schema.ts';

/** The JSON Schema of what subscribers of the topic `job-updates` receive, as published. */
export function renderJobUpdateSchema(): unknown {
  const { $schema, ...update } = z.toJSONSchema(jobUpdateSchema, { io: 'output' });
  const { $schema: _same, ...refused } = z.toJSONSchema(uploadRefusedSchema, { io: 'output' });
  return {
    $schema,
    title: 'Messages of the topic job-updates',
    description: 'Ignore messages of other types, and fields that are not listed: newer versions may add them.',
    anyOf: [open(update), open(refused)],
  };
}

/** The schema with fields of newer versions allowed. */
function open(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema), (key, value) =>
    key === 'additionalProperties' && value === false ? undefined : value,
  );
}
