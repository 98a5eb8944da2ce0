import { expect, it } from 'vitest';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteDeploymentKey } from '#infra/embedded/job-state/deployment-key.ts';
import { onDatabaseFile } from '../support/contract/sqlite-store-under-test.ts';
import { describeDeploymentKeyContract } from './deployment-key.contract.ts';

describeDeploymentKeyContract('SQLite', onDatabaseFile(openSqliteDeploymentKey));

it.each(['', 'c2hvcnQ=', `${'A'.repeat(64)}`])(
  'SQLite rejects the stored key %j, and does not show it',
  async (key) => {
    const database = openDatabase(':memory:');
    const deploymentKey = openSqliteDeploymentKey(database);
    database.sql.prepare('insert into deployment_keys values (?, ?)').run('peers', key);
    const error = await deploymentKey.read().catch(String);
    expect(error).toContain('The key of the deployment is damaged. Delete it: the next heartbeat of a cluster creates');
    expect(key !== '' && error.includes(key)).toBe(false);
  },
);
