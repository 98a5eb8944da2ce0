import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Read } from '#infra/tools/refresh-catalog/api-answers.ts';
import { runRefresh } from '#infra/tools/refresh-catalog/run-refresh.ts';

/** gcloud may have to fetch a fresh token first. */
const GCLOUD_MS_MAX = 60_000;

process.exitCode = await runRefresh(process.argv.slice(2), {
  catalogPath: join(import.meta.dirname, '../../../shared/catalog/machines.json'),
  readToken,
  day: new Date().toISOString().slice(0, 10),
  write: (text) => void process.stdout.write(text),
});

async function readToken(): Promise<Read<string>> {
  const given = process.env.ACCESS_TOKEN;
  if (given !== undefined && given !== '') {
    return { value: given };
  }
  try {
    const printed = await promisify(execFile)('gcloud', ['auth', 'print-access-token'], { timeout: GCLOUD_MS_MAX });
    return { value: printed.stdout.trim() };
  } catch {
    return { failure: 'There is no access token: log in with `gcloud auth login`, or put one into ACCESS_TOKEN.' };
  }
}
