import { writeFileSync } from 'node:fs';
import { renderJobUpdateSchema, UPDATE_SCHEMA_URL } from './render-job-update-schema.ts';

writeFileSync(UPDATE_SCHEMA_URL, `${JSON.stringify(renderJobUpdateSchema(), null, 2)}\n`);
