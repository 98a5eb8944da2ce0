import { expect, it } from 'vitest';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteSecretStore } from '#infra/embedded/secret-manager/secret-store.ts';
import { createStoredSecrets } from '#infra/embedded/secret-manager/stored-secrets.ts';
import { describeSecretNamesContract, PROJECT_ID } from './secret-names.contract.ts';

describeSecretNamesContract('SQLite', async (secrets) => ({
  names: createStoredSecrets(secrets, PROJECT_ID),
  close: async () => undefined,
}));

it('SQLite says which project it has, for a secret of another one', async () => {
  const secrets = openSqliteSecretStore(openDatabase(':memory:'), { now: Date.now });
  const names = createStoredSecrets(secrets, PROJECT_ID);
  expect(await names.find({ project: 'another', secret: 'hf-token', version: 'latest' })).toMatchObject({
    reason: `does not exist: the embedded cloud has those of ${PROJECT_ID} only`,
  });
});
