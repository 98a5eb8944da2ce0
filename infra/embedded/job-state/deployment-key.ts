import { randomBytes } from 'node:crypto';
import type { Database } from '#infra/embedded/data-dir/database.ts';
import { DEPLOYMENT_KEY_BYTES, type DeploymentKey, decodeDeploymentKey } from '#shared/ports/deployment-key.ts';

const SCHEMA =
  'create table if not exists deployment_keys (name text primary key, key text not null) strict, without rowid';

/** The key of an embedded cloud: a row of its database. */
export function openSqliteDeploymentKey({ sql }: Database): DeploymentKey {
  sql.exec(SCHEMA);
  const find = sql.prepare("select key from deployment_keys where name = 'peers'");
  const create = sql.prepare("insert or ignore into deployment_keys values ('peers', ?)");
  return {
    async read() {
      if (find.get() === undefined) {
        create.run(randomBytes(DEPLOYMENT_KEY_BYTES).toString('base64'));
      }
      return decodeDeploymentKey(find.get()?.key);
    },
  };
}
