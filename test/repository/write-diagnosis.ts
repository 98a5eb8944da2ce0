import { writeFileSync } from 'node:fs';
import { renderDiagnosis } from './render-diagnosis.ts';

writeFileSync(new URL('../../docs/diagnosis.md', import.meta.url), renderDiagnosis());
