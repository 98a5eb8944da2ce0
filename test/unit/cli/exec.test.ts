import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { entryByGcloud } from '../../../cli/commands/exec.ts';
import { closeServer, listen } from '../../../infra/embedded/http/server.ts';

const CLI = fileURLToPath(new URL('../../../cli/main.ts', import.meta.url));
const MACHINE = { vmName: 'df-digits-1-a1-master-0', zone: 'us-central1-a', projectId: 'my-project' };

const remoteOf = (command: readonly string[]) =>
  entryByGcloud(MACHINE, command)
    .args.find((arg) => arg.startsWith('--command='))
    ?.slice('--command='.length) ?? '';

describe('dropforge exec on a deployment', () => {
  it('enters the VM by gcloud through Identity-Aware Proxy, as root', () => {
    expect(entryByGcloud(MACHINE, ['nvidia-smi', '-l'])).toEqual({
      file: 'gcloud',
      args: [
        ...['compute', 'ssh', 'df-digits-1-a1-master-0', '--zone=us-central1-a', '--project=my-project'],
        ...['--tunnel-through-iap', '--quiet'],
        '--command=sudo python3 /var/lib/dropforge/agent.pyz enter nvidia-smi -l',
      ],
    });
  });

  it('passes every argument through the shell of the VM as it is', async () => {
    const command = ['sh', '-c', `echo "$HOME" 'it''s' $(id); \\ *`, '', 'line\nbreak', '~', 'a b'];
    const quoted = remoteOf(command).replace(/^sudo python3 \S+ enter/, `printf '%s\\0'`);
    const shell = spawn('sh', ['-c', quoted]);
    expect((await text(shell.stdout)).split('\0').slice(0, -1)).toEqual(command);
  });

  describe('with a gcloud', () => {
    let folder: string;
    let api: ReturnType<typeof createServer>;
    let requests: string[];

    beforeEach(async () => {
      requests = [];
      folder = await mkdtemp(join(tmpdir(), 'dropforge-gcloud-'));
      api = createServer(async (request, response) => {
        requests.push(`${request.method} ${request.url} ${await text(request)}`);
        response.setHeader('content-type', 'application/json');
        const target = {
          jobId: 'digits',
          vmName: MACHINE.vmName,
          zone: MACHINE.zone,
          replica: 'master-0',
          isKept: false,
        };
        response.end(JSON.stringify(target));
      });
      const host = `http://127.0.0.1:${await listen(api, 0)}`;
      const settings = {
        projectId: 'my-project',
        api: host,
        storage: host,
        uploadBucket: 'uploads',
        jobsBucket: 'jobs',
      };
      await writeFile(join(folder, 'deployment.json'), JSON.stringify(settings));
      await writeFile(
        join(folder, 'gcloud'),
        '#!/bin/sh\n[ "$1" = auth ] && { echo token; exit; }\necho "ssh to $3"; cat; exit 42\n',
      );
      await chmod(join(folder, 'gcloud'), 0o755);
    });
    afterEach(async () => {
      await closeServer(api);
      await rm(folder, { recursive: true });
    });

    it('passes standard input and the exit code on, and asks the API, which records the command', async () => {
      const child = spawn(process.execPath, [CLI, 'exec', 'digits', '--', 'wc', '-l'], {
        env: {
          PATH: `${folder}:${process.env.PATH}`,
          HOME: folder,
          CLOUDSDK_CONFIG: join(folder, 'none'),
          METADATA_SERVER_DETECTION: 'none',
          DROPFORGE_DEPLOYMENT: join(folder, 'deployment.json'),
        },
      });
      child.stdin.end('from the caller\n');
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
      expect([child.exitCode, stdout, stderr]).toEqual([42, `ssh to ${MACHINE.vmName}\nfrom the caller\n`, '']);
      expect(requests).toEqual(['POST /v1/jobs/digits:openShell {"command":"wc -l"}']);
    });
  });
});
