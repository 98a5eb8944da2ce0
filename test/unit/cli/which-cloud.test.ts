import { chown, mkdir, rm, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Endpoints, writeEndpoints } from '#infra/embedded/data-dir/endpoints.ts';
import { registerCloud, unregisterCloud } from '#infra/embedded/data-dir/running-clouds.ts';
import { runCli, startTestCloud, type TestCloud, viewOf } from '../../support/cli/test-cloud.ts';

let cloud: TestCloud;
/** A folder that has no cloud of its own. */
let cwd: string;
let stateDir: string;

beforeEach(async () => {
  cloud = await startTestCloud();
  cwd = join(cloud.dataDir, 'project', 'deep');
  stateDir = join(cloud.dataDir, 'state');
  await mkdir(cwd, { recursive: true });
  await registerCloud(stateDir, cloud.dataDir);
  cloud.jobs.set('digits', [viewOf('digits')]);
});
afterEach(() => cloud.close());

const cli = (...argv: string[]) => runCli(argv, { cwd, stateDir });

/** A cloud of this process: whether it runs is known by its process. */
async function registerAnother(pid = process.pid): Promise<string> {
  const dataDir = join(cloud.dataDir, `other ${pid}`);
  await mkdir(dataDir);
  await writeEndpoints(dataDir, { ...cloud.endpoints, pid });
  await registerCloud(stateDir, dataDir);
  return dataDir;
}

describe('a running embedded cloud', () => {
  it('is found from any folder, which a note says', async () => {
    const { code, stdout, stderr } = await cli('jobs', 'list');
    expect({ code, stdout: stdout.includes('digits') }).toEqual({ code: 0, stdout: true });
    expect(stderr).toBe(
      `Using the embedded cloud on ${cloud.dataDir}, since none is running on ${join(cwd, '.dropforge')}.\n`,
    );
  });

  it('is not used in place of one that was chosen', async () => {
    const { code, stderr } = await cli('jobs', 'list', '--data-dir', 'mine');
    expect(code).toBe(1);
    expect(stderr).toContain(`No embedded cloud is running on ${join(cwd, 'mine')}: run \`npx dropforge`);
  });

  it('is not used in place of one that the folder has and that is stopped', async () => {
    await mkdir(join(cwd, '..', '.dropforge'));
    const { code, stderr } = await cli('jobs', 'cancel', 'digits');
    expect({ code, requests: cloud.requests }).toEqual({ code: 1, requests: [] });
    expect(stderr).toContain(`up\` for it, or choose one that runs elsewhere with --data-dir ${cloud.dataDir}.`);
  });

  it('must be chosen if several run elsewhere', async () => {
    const other = await registerAnother();
    const { code, stderr } = await cli('jobs', 'list');
    expect(code).toBe(1);
    expect(stderr).toContain(
      `choose one that runs elsewhere with --data-dir ${cloud.dataDir} or --data-dir '${other}'.`,
    );
    expect((await cli('jobs', 'list', '--data-dir', cloud.dataDir)).code).toBe(0);
  });

  it('is found beside the records of clouds that were killed or deleted', async () => {
    // Greater than the highest process id on Linux, 4,194,304 (proc(5), pid_max).
    await registerAnother(4_194_305);
    await rm(await registerAnother(4_194_306), { recursive: true });
    await writeFile(join(await registerAnother(4_194_307), 'endpoints.json'), '{');
    await mkdir(join(stateDir, 'clouds', 'folder'));
    expect((await cli('jobs', 'list')).code).toBe(0);
  });
});

describe('endpoints in a folder', () => {
  /** Whether commands use these endpoints, in the folder that has them and in others of a user who once ran a cloud there. */
  const areUsed = async (changes: Partial<Endpoints>, owner = userInfo().uid) => {
    const dataDir = join(cwd, '.dropforge');
    await writeEndpoints(dataDir, cloud.endpoints);
    const path = join(dataDir, 'endpoints.json');
    await writeFile(path, JSON.stringify({ ...cloud.endpoints, ...changes }));
    await chown(path, owner, -1);
    await unregisterCloud(stateDir, cloud.dataDir);
    await registerCloud(stateDir, dataDir);
    const answers = [await cli('jobs', 'list'), await runCli(['jobs', 'list'], { cwd: cloud.dataDir, stateDir })];
    return answers.map(({ code, stderr }) => code === 0 || !stderr.includes('No embedded cloud is running'));
  };

  it.each(['http://192.0.2.2:8080', 'http://127.0.0.1@example.com', 'http://127.0.0.1.example.com', 'nowhere'])(
    'are ignored if they name %s, since a repository can contain them',
    async (url) => {
      expect(await areUsed({})).toEqual([true, true]);
      for (const name of ['api', 'storage', 'secretManager'] as const) {
        expect(await areUsed({ [name]: url })).toEqual([false, false]);
      }
    },
  );

  it('are ignored if another user wrote them', async () => {
    const user = vi.spyOn(process, 'getuid').mockReturnValue(54_321);
    try {
      // Only root can give a file away. Its own files are trusted: an administrator may do more than write them.
      expect(await areUsed({}, userInfo().uid || 12_345)).toEqual([false, false]);
    } finally {
      user.mockRestore();
    }
  });
});

describe('the cloud of a command', () => {
  const deployment = async (changes: { readonly api?: string } = {}) => {
    const path = join(cwd, 'deployment.json');
    const { api, uploadBucket, jobsBucket } = cloud.endpoints;
    await writeFile(path, JSON.stringify({ projectId: 'team-ml', api, uploadBucket, jobsBucket, ...changes }));
    return path;
  };

  it('is named by its errors', async () => {
    expect((await cli('jobs', 'describe', 'nope')).stderr).toMatch(
      new RegExp(`^error: .*\n^cloud: embedded cloud on ${cloud.dataDir}\n`, 'm'),
    );
    const path = await deployment();
    expect((await cli('--deployment', path, 'jobs', 'describe', 'nope')).stderr).toContain(
      `\ncloud: deployment in project team-ml (${path})\n`,
    );
  });

  it('is not a deployment whose address would show the identity token to the network', async () => {
    const path = await deployment({ api: 'http://127.0.0.1.example.com' });
    const { code, stderr } = await cli('--deployment', path, 'jobs', 'list');
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('(api: Use https://)') });
  });

  it('is not named by an error that has nothing to do with it', async () => {
    await cli('jobs', 'describe', 'nope');
    expect((await cli('jobs', 'validate', 'nope.yaml')).stderr).not.toContain('cloud:');
  });

  it('is shown by status, with what runs there', async () => {
    expect((await cli('status')).stdout).toMatch(`cloud      embedded cloud on ${cloud.dataDir}\n`);
    const { code, stderr } = await cli('status', '--follow', '--deployment', await deployment());
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('--follow works only with an embedded'),
    });
  });
});
