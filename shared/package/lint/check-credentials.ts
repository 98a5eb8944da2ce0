import type { AdviceSubject } from '#shared/package/lint/lint-subject.ts';
import type { Advice } from '#shared/package/lint/package-checks.ts';
import { CREDENTIAL_KINDS, type CredentialKind } from '#shared/package/scan/credential-signs.ts';

const PRIVATE_KEYS: ReadonlySet<CredentialKind> = new Set(['SERVICE_ACCOUNT_KEY', 'PRIVATE_KEY']);

/** Keys there are mostly made up; a warning is enough. */
const MADE_UP = /(?:^|\/)(?:tests?|testing|test_?data|fixtures?|examples?|docs?)\//i;

/**
 * CREDENTIALS_IN_PACKAGE. By what a file holds, never by its name alone:
 * - an error for a private key: a service account's JSON, or PEM (RFC 7468) with a key in it, outside of tests;
 * - a warning for tokens that tell by their form what they are (Google API keys, AWS, GitHub, Hugging Face), for
 *   passwords in .netrc, .pypirc and .git-credentials, and for settings of an .env file that look secret.
 * The message says which file and what kind; the secret is nowhere kept.
 */
export function checkCredentials({ packages }: AdviceSubject): Advice[] {
  return packages
    .flatMap(({ evidence }) => evidence.credentials)
    .map(({ path, kind }): Advice => {
      const isError = PRIVATE_KEYS.has(kind) && !MADE_UP.test(path);
      return {
        code: 'CREDENTIALS_IN_PACKAGE',
        severity: isError ? 'ERROR' : 'WARNING',
        message: `${path} holds ${CREDENTIAL_KINDS[kind]}: whoever can read the package can use it.`,
        remedy:
          'Leave it out, revoke it if the package was shared, and let the job use its service account, or a secret that its job file names in secrets.',
        path,
      };
    })
    .sort((a, b) => (a.severity < b.severity ? -1 : a.severity > b.severity ? 1 : 0));
}
