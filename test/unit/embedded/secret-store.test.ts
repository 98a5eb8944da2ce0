import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import {
  openSqliteSecretStore,
  SECRETS_COUNT_MAX,
  type SecretStore,
  VERSIONS_COUNT_MAX,
} from '#infra/embedded/secret-manager/secret-store.ts';

describe('the secrets of the embedded cloud', () => {
  let database: Database;
  let secrets: SecretStore;
  beforeEach(() => {
    database = openDatabase(':memory:');
    secrets = openSqliteSecretStore(database, { now: () => 7 });
  });
  afterEach(() => database.close());

  const readValue = (name: string, version: string) => {
    const found = secrets.access(name, version);
    return found && Buffer.from(found.data).toString();
  };

  it('have numbered versions, the latest by default', () => {
    secrets.create('a');
    for (const value of ['one', 'two', 'three']) {
      secrets.addVersion('a', Buffer.from(value));
    }
    expect(['1', '2', '3', 'latest'].map((version) => readValue('a', version))).toEqual([
      'one',
      'two',
      'three',
      'three',
    ]);
    expect(['0', '4', '-1', '1.5', 'x', ''].map((version) => readValue('a', version))).toEqual(
      Array(6).fill(undefined),
    );
    expect(secrets.listVersions('a').map(({ version }) => version)).toEqual([3, 2, 1]);
  });

  it('have no value before a version is added, and no versions before they are created', () => {
    expect(secrets.create('a')).toBe('CREATED');
    expect(secrets.create('a')).toBe('EXISTS');
    expect(readValue('a', 'latest')).toBeUndefined();
    expect(secrets.addVersion('b', Buffer.from('x'))).toBe('NO_SECRET');
  });

  it('are limited in number, and so are the versions of each', () => {
    for (let index = 0; index < SECRETS_COUNT_MAX; index += 1) {
      secrets.create(`s${index}`);
    }
    expect(secrets.create('more')).toBe('TOO_MANY');
    for (let index = 0; index < VERSIONS_COUNT_MAX; index += 1) {
      secrets.addVersion('s0', Buffer.from('x'));
    }
    expect(secrets.addVersion('s0', Buffer.from('x'))).toBe('TOO_MANY');
    expect(secrets.delete('s0')).toBe(true);
    expect(secrets.create('more')).toBe('CREATED');
  });
});
