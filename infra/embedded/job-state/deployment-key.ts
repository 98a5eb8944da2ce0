import { randomBytes } from 'node:crypto';
import type { Database } from '#infra/embedded/data-dir/database.ts';
import { type DeploymentKey, deploymentKeySchema } from '#shared/ports/deployment-key.ts';

/** The key of an embedded cloud: a row of its database. */
export function openSqliteDeploymentKey({ sql }: Database): DeploymentKey {
  sql.exec('create table if not exists deployment_keys (name text primary key, key text not null) strict');
  const find = sql.prepare("select key from deployment_keys where name = 'peers'");
  const create = sql.prepare("insert or ignore into deployment_keys values ('peers', ?)");
  return {
    async read() {
      if (find.get() === undefined) {
        create.run(randomBytes(32).toString('base64'));
      }
      return deploymentKeySchema.parse(find.get()?.key);
    },
  };
}
