import type { SecretStore } from '#infra/embedded/secret-manager/secret-store.ts';
import type { SecretNames } from '#shared/ports/secret-names.ts';

/** The names of the embedded cloud's secrets, which are those of one project. */
export function createStoredSecretNames(secrets: SecretStore, projectId: string): SecretNames {
  return {
    async find({ project, secret, version }) {
      const isOwn = project === null || project === projectId;
      if (isOwn && secrets.access(secret, version) !== undefined) {
        return { state: 'EXISTS' };
      }
      const reason = isOwn ? 'does not exist' : `does not exist: the embedded cloud has those of ${projectId} only`;
      const command = `printf %s VALUE | dropforge secrets create ${secret} --data-file=-`;
      return { state: 'MISSING', reason, remedy: `Correct its name and version, or create it: ${command}` };
    },
  };
}
