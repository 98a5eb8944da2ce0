import { execFileSync } from 'node:child_process';

/** The version of gcloud; undefined if it is not installed. */
export function findGcloudVersion(): string | undefined {
  try {
    return execFileSync('gcloud', ['version', '--format=value("Google Cloud SDK")'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
}
