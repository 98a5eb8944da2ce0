import { ANONYMOUS, type CredentialsOf } from '#infra/registry/registry-credentials.ts';
import type { SecretReader } from '#shared/ports/secret-reader.ts';
import type { Registries } from '#shared/protocol/registries.ts';

/**
 * The credentials of the registries that the deployment lists, read for each request; others get those of `others`. A
 * secret that cannot be read counts as none, which the registry's answer and the identity explain.
 */
export function credentialsFromSecrets(
  registries: Registries,
  secrets: SecretReader,
  others: CredentialsOf = async () => ANONYMOUS,
): CredentialsOf {
  return async (host) => {
    const listed = registries[host];
    if (listed === undefined) {
      return others(host);
    }
    const { secret, tokenHost } = listed;
    const value = (await secrets.read(secret))?.trim() ?? '';
    return value.includes(':')
      ? {
          identity: `the account of the secret ${secret}`,
          tokenHost,
          login: { kind: 'PASSWORD', userAndPassword: value },
        }
      : {
          identity: `the secret ${secret}, which cannot be read or is not of the form user:password`,
          tokenHost,
          login: { kind: 'ANONYMOUS' },
        };
  };
}
