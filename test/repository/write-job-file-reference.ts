import { writeFileSync } from 'node:fs';
import { PAGE_URL, renderJobSchema, renderPage, SCHEMA_URL } from './render-job-file-reference.ts';

writeFileSync(SCHEMA_URL, `${JSON.stringify(renderJobSchema(), null, 2)}\n`);
writeFileSync(PAGE_URL, renderPage());
