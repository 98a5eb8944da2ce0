import { readFileSync, writeFileSync } from 'node:fs';
import { withoutUnmetEngines } from './package-engines.ts';

const LOCK = new URL('../../package-lock.json', import.meta.url);

writeFileSync(LOCK, `${JSON.stringify(withoutUnmetEngines(JSON.parse(readFileSync(LOCK, 'utf8'))), null, 2)}\n`);
