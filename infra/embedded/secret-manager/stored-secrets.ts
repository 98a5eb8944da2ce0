import type { SecretStore } from '#infra/embedded/secret-manager/secret-store.ts';
import type { SecretNames } from '#shared/ports/secret-names.ts';
import type { SecretReader } from '#shared/ports/secret-reader.ts';

/** The embedded cloud's secrets, which are those of one project. */
export function createStoredSecrets(secrets: SecretStore, projectId: string): SecretReader & SecretNames {
  return {
    async read(name) {
      const data = secrets.access(name, 'latest')?.data;
      return data && Buffer.from(data).toString('utf8');
    },
    async find({ project, secret, version }) {
      const isOwn = project === null || project === projectId;
      const reason = isOwn ? 'does not exist' : `does not exist: the embedded cloud has those of ${projectId} only`;
      const remedy = `Correct its name and version, or create it: dropforge secrets create ${secret} --data-file=-`;
      const isFound = isOwn && secrets.access(secret, version) !== undefined;
      return isFound ? { state: 'EXISTS' } : { state: 'MISSING', reason, remedy };
    },
  };
}
