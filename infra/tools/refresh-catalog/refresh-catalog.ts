import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Result } from '#infra/tools/refresh-catalog/api-responses.ts';
import { runRefresh } from '#infra/tools/refresh-catalog/run-refresh.ts';

/** gcloud may need to refresh the token. */
const GCLOUD_MS_MAX = 60_000;

process.exitCode = await runRefresh(process.argv.slice(2), {
  catalogPath: join(import.meta.dirname, '../../../shared/catalog/machines.json'),
  readToken,
  day: new Date().toISOString().slice(0, 10),
  write: (text) => void process.stdout.write(text),
});

async function readToken(): Promise<Result<string>> {
  const given = process.env.ACCESS_TOKEN;
  if (given !== undefined && given !== '') {
    return { value: given };
  }
  try {
    const printed = await promisify(execFile)('gcloud', ['auth', 'print-access-token'], { timeout: GCLOUD_MS_MAX });
    return { value: printed.stdout.trim() };
  } catch {
    return { failure: 'No access token: log in with `gcloud auth login`, or set ACCESS_TOKEN.' };
  }
}
