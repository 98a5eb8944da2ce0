import { realpath, stat } from 'node:fs/promises';
import { describeError, UsageFailure } from '#cli/core/failure.ts';

/** The name of pip's configuration among the secrets of a build, and the file that an instruction sees it as. */
export const PIP_SECRET = { id: 'dropforge-pip-conf', path: '/run/secrets/dropforge-pip-conf' } as const;

/** Where the `pip.conf` of a build comes from: a file of this machine, or a secret in Secret Manager. */
export type PipConfiguration =
  | { readonly kind: 'FILE'; readonly path: string }
  | { readonly kind: 'SECRET'; readonly name: string };

/** BuildKit does not pass on larger secrets. */
const CONFIGURATION_BYTES_MAX = 500_000;
/** cloud.google.com/secret-manager/docs/reference/rest/v1/projects.secrets/create, "secretId" */
const SECRET_NAME = /^[\w-]{1,255}$/;

/** The real path of `--pip-conf`. Throws UsageFailure unless it is a file that can be read. */
export async function readPipFile(path: string): Promise<PipConfiguration> {
  const found = await stat(path).catch((error: unknown) => {
    throw new UsageFailure(`--pip-conf ${path} cannot be read (${describeError(error)}). Name a file like pip.conf.`);
  });
  if (!found.isFile() || found.size > CONFIGURATION_BYTES_MAX) {
    throw new UsageFailure(
      `--pip-conf ${path} is not a file of at most ${CONFIGURATION_BYTES_MAX} bytes. Name a file like pip.conf.`,
    );
  }
  return { kind: 'FILE', path: await realpath(path) };
}

/** Throws UsageFailure unless `--pip-secret` is the name of a secret. */
export function readPipSecret(name: string): PipConfiguration {
  if (!SECRET_NAME.test(name)) {
    throw new UsageFailure(
      `--pip-secret ${name} is not the name of a secret (letters, digits, "-" and "_"). Name one of Secret Manager, whose value is a pip.conf.`,
    );
  }
  return { kind: 'SECRET', name };
}
