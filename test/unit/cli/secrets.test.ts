import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import { writeEndpoints } from '#infra/embedded/data-dir/endpoints.ts';
import { closeServer, HOST, listen } from '#infra/embedded/http/server.ts';
import {
  openSqliteSecretStore,
  SECRET_BYTES_MAX,
  type SecretStore,
} from '#infra/embedded/secret-manager/secret-store.ts';
import { createSecretManagerServer } from '#infra/embedded/secret-manager/server.ts';
import { runCli, startTestCloud, type TestCloud } from '../../support/cli/test-cloud.ts';

let cloud: TestCloud;
let database: Database;
let secrets: SecretStore;
const servers: ReturnType<typeof createServer>[] = [];

beforeEach(async () => {
  cloud = await startTestCloud();
  database = openDatabase(':memory:');
  secrets = openSqliteSecretStore(database, { now: () => Date.parse('2026-11-22T02:00:00Z') });
  const server = createServer(getRequestListener(createSecretManagerServer(secrets, 'test-project').fetch));
  servers.push(server);
  const secretManager = `http://${HOST}:${await listen(server, 0)}`;
  await writeEndpoints(cloud.dataDir, { ...cloud.endpoints, secretManager });
});
afterEach(async () => {
  await Promise.all(servers.splice(0).map(closeServer));
  await cloud.close();
  database.close();
});

const cli = (argv: readonly string[], stdin = '') =>
  runCli(['secrets', ...argv], {
    dataDir: cloud.dataDir,
    cwd: cloud.dataDir,
    openStdin: () => Readable.from(stdin === '' ? [] : [Buffer.from(stdin)]),
  });

describe('dropforge secrets', () => {
  it('creates a secret from standard input or a file, byte for byte', async () => {
    expect(await cli(['create', 'piped', '--data-file=-'], 'a\nb\n')).toMatchObject({
      code: 0,
      stdout: 'Created secret piped.\n',
      stderr: '',
    });
    await writeFile(join(cloud.dataDir, 'value'), 'x'.repeat(SECRET_BYTES_MAX));
    expect((await cli(['create', 'filed', '--data-file=value'])).code).toBe(0);
    expect(Buffer.from(secrets.access('piped', 'latest')?.data ?? []).toString()).toBe('a\nb\n');
    expect(secrets.access('filed', '1')?.data).toHaveLength(SECRET_BYTES_MAX);
  });

  it('lists names without values, and deletes secrets', async () => {
    expect((await cli(['list'])).stdout).toBe('There are no secrets.\n');
    await cli(['create', 'hf-token', '--data-file=-'], 'planted');
    const { stdout } = await cli(['list']);
    expect(stdout).toMatch(/^NAME +CREATED\nhf-token +2026-11-22 02:00:00 UTC\n$/);
    expect((await cli(['list', '--format=json'])).json()).toEqual([
      [expect.objectContaining({ name: 'hf-token', createTime: '2026-11-22T02:00:00.000Z' })],
    ]);
    expect((await cli(['delete', 'hf-token'])).stdout).toBe('Deleted secret hf-token.\n');
    expect(await cli(['delete', 'hf-token'])).toMatchObject({ code: 1, stderr: expect.stringContaining('not found') });
  });

  it.each([
    { argv: ['a'], stdin: '', code: 2, message: '--data-file is missing' },
    { argv: ['a', '--data-file=-'], stdin: '', code: 1, message: 'between 1 and 65536 bytes' },
    { argv: ['b', '--data-file=-'], stdin: 'x'.repeat(SECRET_BYTES_MAX + 1), code: 1, message: 'between 1 and 65536' },
    { argv: ['a', '--data-file=none'], stdin: '', code: 1, message: 'cannot be read' },
    { argv: ['no name', '--data-file=-'], stdin: 'x', code: 1, message: 'is not a valid secret name' },
    { argv: ['taken', '--data-file=-'], stdin: 'x', code: 1, message: 'already exists' },
  ])('rejects create $argv', async ({ argv, stdin, code, message }) => {
    secrets.create('taken');
    const result = await cli(['create', ...argv], stdin);
    expect(result).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
    expect(secrets.list()).toHaveLength(1);
  });

  it.each(['create a --data-file=-', 'list', 'delete a'])(
    'rejects %s for a deployment and refers to gcloud',
    async (command) => {
      const { code, stderr } = await runCli(['--deployment=d.json', 'secrets', ...command.split(' ')]);
      expect([code, stderr]).toEqual([1, expect.stringContaining('with `gcloud secrets`')]);
    },
  );
});
