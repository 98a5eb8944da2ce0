import type { LintSubject } from '#shared/package/lint/lint-subject.ts';
import type { LintFinding } from '#shared/package/lint/package-checks.ts';
import { CREDENTIAL_KINDS, type CredentialKind } from '#shared/package/scan/credential-patterns.ts';

const PRIVATE_KEYS: ReadonlySet<CredentialKind> = new Set(['SERVICE_ACCOUNT_KEY', 'PRIVATE_KEY']);

/** Keys in these directories and files are usually fake, so they only cause a warning. */
const TEST_FILE =
  /(?:^|\/)(?:(?:tests?|testing|test_?data|fixtures?|examples?|docs?)\/|(?:test_[^/]*|[^/]*_test|tests|conftest)\.py$)/i;

/**
 * CREDENTIALS_IN_PACKAGE, based on the contents of files, never on their names alone.
 * - Error for a private key outside of tests: a service account key (JSON) or a key in PEM (RFC 7468).
 * - Warning for tokens with a recognizable format (Google API keys, AWS, GitHub, Hugging Face), for passwords in
 *   .netrc, .pypirc, .git-credentials, pip.conf and URLs of requirements, and for settings of an .env file that look
 *   like secrets.
 * The message names the file and the kind of credential; the secret itself is not stored anywhere.
 */
export function checkCredentials({ packages }: LintSubject): LintFinding[] {
  return packages
    .flatMap(({ evidence }) => evidence.credentials)
    .map(({ path, kind }): LintFinding => {
      const isError = PRIVATE_KEYS.has(kind) && !TEST_FILE.test(path);
      return {
        code: 'CREDENTIALS_IN_PACKAGE',
        severity: isError ? 'ERROR' : 'WARNING',
        message: `${path} contains ${CREDENTIAL_KINDS[kind]}: everyone with read access to the package can use it.`,
        remedy:
          'Remove it, revoke it if the package was shared, and use the service account of the job, or a secret listed under secrets in the job file.',
        path,
      };
    })
    .sort((a, b) => (a.severity < b.severity ? -1 : a.severity > b.severity ? 1 : 0));
}
