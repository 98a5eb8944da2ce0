import { writeFileSync } from 'node:fs';
import { renderJobLifecycle } from './render-job-lifecycle.ts';

writeFileSync(new URL('../../docs/job-lifecycle.md', import.meta.url), await renderJobLifecycle());
