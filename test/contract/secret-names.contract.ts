import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteSecretStore, type SecretStore } from '#infra/embedded/secret-manager/secret-store.ts';
import type { SecretNames } from '#shared/ports/secret-names.ts';

export const PROJECT_ID = 'dropforge-local';

export type OpenedNames = { readonly names: SecretNames; close(): Promise<void> };

/** The contract of all SecretNames, on the secrets of one project. */
export function describeSecretNamesContract(name: string, open: (secrets: SecretStore) => Promise<OpenedNames>): void {
  describe(`${name} as the names of secrets`, () => {
    let opened: OpenedNames;

    beforeEach(async () => {
      const secrets = openSqliteSecretStore(openDatabase(':memory:'), { now: Date.now });
      secrets.create('empty');
      secrets.create('hf-token');
      secrets.addVersion('hf-token', Buffer.from('first'));
      secrets.addVersion('hf-token', Buffer.from('second'));
      opened = await open(secrets);
    });
    afterEach(() => opened.close());

    const find = (secret: string, version = 'latest', project: string | null = null) =>
      opened.names.find({ project, secret, version });

    it('finds a version by its number and as the latest, and its project by name, and returns nothing else', async () => {
      const found = [find('hf-token'), find('hf-token', '1'), find('hf-token', '2', PROJECT_ID)];
      expect(await Promise.all(found)).toEqual(found.map(() => ({ state: 'EXISTS' })));
    });

    it('finds no other secret, no other version, and no secret without a version, and says what to do', async () => {
      const found = await Promise.all([find('hf-tokn'), find('hf-token', '3'), find('empty')]);
      expect(found).toEqual(
        ['hf-tokn', 'hf-token', 'empty'].map((secret) => ({
          state: 'MISSING',
          reason: 'does not exist',
          remedy: expect.stringMatching(`^Correct its name and version, or .* ${secret} .*--data-file=-$`),
        })),
      );
    });

    it('finds no secret of a project that has none', async () => {
      expect(await find('hf-token', 'latest', 'another')).toMatchObject({ state: 'MISSING' });
    });
  });
}
