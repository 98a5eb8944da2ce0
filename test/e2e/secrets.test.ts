import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../support/cli/test-cloud.ts';
import { type CloudUnderTest, packProgram, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';

const TOKEN = 'planted-t0ken-7f3a';
const KEY = '-----BEGIN PLANTED KEY-----\nplanted+line/one==\nplanted+line/two==\n-----END PLANTED KEY-----\n';
/** Parts of every line of both values, and the base64 encodings of their beginnings. */
const SIGNS = [
  /planted/i,
  ...[TOKEN, KEY].map((value) => new RegExp(Buffer.from(value).toString('base64').slice(0, 20))),
];

const PROVES = `
import hashlib, os
proof = hashlib.sha256((os.environ['API_TOKEN'] + os.environ['KEY']).encode()).hexdigest()
with open(os.environ['DROPFORGE_OUTPUT_DIR'] + '/model', 'w') as file:
    file.write(proof)
print('with', os.environ['API_TOKEN'], 'and', os.environ['KEY'], flush=True)
`;
const FAILS = `${PROVES}\nraise RuntimeError('refused: ' + os.environ['API_TOKEN'])\n`;
const PROOF = createHash('sha256').update(`${TOKEN}${KEY}`).digest('hex');

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest({ timeouts: { syncMs: 300 } });
  for (const [name, value] of Object.entries({ token: TOKEN, key: KEY })) {
    const openStdin = () => Readable.from([Buffer.from(value)]);
    const { code } = await runCli(['secrets', 'create', name, '--data-file=-'], { dataDir: cloud.dataDir, openStdin });
    expect(code).toBe(0);
  }
});
afterAll(() => cloud.stop());

const own = (name: string, secrets: object) => ({ name, module: 'trainer.task', secrets });
const SECRETS = { API_TOKEN: 'token', KEY: 'projects/dropforge-local/secrets/key/versions/1' };

/** Reads every table except that of the secrets, and every file except the database. */
async function readEverything(): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const database = new DatabaseSync(join(cloud.dataDir, 'dropforge.db'), { readOnly: true });
  for (const { name } of database.prepare("select name from sqlite_master where type = 'table'").all()) {
    const rows = name === 'secret_versions' ? [] : database.prepare(`select * from "${name}"`).all();
    const readable = (_: string, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value;
    found.set(`table ${name}`, JSON.stringify(rows, readable));
  }
  database.close();
  for (const entry of await readdir(cloud.dataDir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !entry.name.startsWith('dropforge.db')) {
      found.set(path, await readFile(path, 'latin1'));
    }
  }
  return found;
}

describe('secrets of jobs', () => {
  it('reach only the program, whether it succeeds or fails while printing them', async () => {
    await cloud.upload('good.tar.gz', await packProgram(PROVES, own('good', SECRETS)));
    await cloud.upload('bad.tar.gz', await packProgram(FAILS, own('bad', SECRETS)));

    expect(await cloud.awaitJob('good')).toMatchObject({ state: 'SUCCEEDED' });
    const bad = await cloud.awaitJob('bad');
    expect(bad).toMatchObject({ state: 'FAILED', cause: { code: 'PROGRAM_FAILED' } });
    expect(bad.cause?.evidence.at(-1)).toBe('RuntimeError: refused: ***');
    for (const jobId of ['good', 'bad']) {
      expect(await cloud.readObject(cloud.endpoints.jobsBucket, `${jobId}/model`)).toBe(PROOF);
      await cloud.awaitReport(`${jobId}.tar.gz.report.json`, ({ job }) => job?.endTime != null);
      expect((await cloud.readLog(jobId)).map(({ text }) => text)).toContain('with *** and ***');
    }
    const everything = await readEverything();
    expect([...everything.keys()]).toEqual(expect.arrayContaining(['table jobs', 'table vms']));
    const holders = [...everything].filter(([, text]) => SIGNS.some((sign) => sign.test(text)));
    expect(holders.map(([place]) => place)).toEqual([]);
    expect(SIGNS.some((sign) => sign.test(cloud.log.join('\n')))).toBe(false);
  });

  it('are stored in a file that only the user can read', async () => {
    expect((await stat(join(cloud.dataDir, 'dropforge.db'))).mode & 0o777).toBe(0o600);
  });

  it('are added to a job in AI Platform’s format by a flag', async () => {
    const work = await mkdtemp(join(tmpdir(), 'dropforge-secrets-'));
    await mkdir(join(work, 'trainer'));
    await writeFile(join(work, 'trainer', '__init__.py'), '');
    await writeFile(join(work, 'trainer', 'task.py'), PROVES);
    const flags = ['--package-path=trainer', '--module-name=trainer.task', '--set-secrets=API_TOKEN=token,KEY=key:1'];
    const submitted = await runCli(['jobs', 'submit', 'training', 'flagged', '--region=us-central1', ...flags], {
      dataDir: cloud.dataDir,
      cwd: work,
    });
    expect(submitted.code).toBe(0);
    expect(await cloud.awaitJob('flagged')).toMatchObject({ state: 'SUCCEEDED' });
    expect(await cloud.readObject(cloud.endpoints.jobsBucket, 'flagged/model')).toBe(PROOF);
    await rm(work, { recursive: true });
  });

  it('are looked for before a VM is created, and a missing one rejects the submission with what to do', async () => {
    await cloud.upload('none.tar.gz', await packProgram(PROVES, own('none', { ...SECRETS, HF_TOKEN: 'hf-token:3' })));

    const { verdict, problems } = await cloud.awaitReport('none.tar.gz.report.json');
    expect([verdict, problems.map(({ code }) => code)]).toEqual(['REFUSED', ['SECRET_MISSING']]);
    expect(problems[0]?.message).toContain('hf-token, version 3, of the variable HF_TOKEN does not exist');
    expect(problems[0]?.remedy).toContain('dropforge secrets create hf-token');
  });
});
