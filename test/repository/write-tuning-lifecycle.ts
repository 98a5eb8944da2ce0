import { writeFileSync } from 'node:fs';
import { renderTuningLifecycle } from './render-tuning-lifecycle.ts';

writeFileSync(new URL('../../docs/tuning-lifecycle.md', import.meta.url), renderTuningLifecycle());
