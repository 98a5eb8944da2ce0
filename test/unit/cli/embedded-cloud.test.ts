import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openFunctionsLog } from '../../../cli/client/functions-log.ts';
import { removeEndpoints } from '../../../infra/embedded/data-dir/endpoints.ts';
import { readEmbeddedConfig } from '../../../infra/embedded/embedded-config.ts';
import { createLogger } from '../../../shared/observability/logger.ts';
import { runCli, startTestCloud, type TestCloud } from '../../support/cli/test-cloud.ts';

let cloud: TestCloud;
beforeEach(async () => {
  cloud = await startTestCloud();
});
afterEach(() => cloud.close());

const cli = (...argv: string[]) => runCli(argv, { dataDir: cloud.dataDir });

describe('dropforge status, env and admin', () => {
  it('shows endpoints, VMs and queues', async () => {
    cloud.vms.push({
      vmName: 'vm-1',
      zone: 'us-central1-a',
      instanceId: '17',
      jobId: 'one',
      attempt: 2,
      status: 'RUNNING',
    });
    const { stdout } = await cli('status');
    expect(stdout).toContain('gs://uploads/');
    expect(stdout).toMatch(/^vm-1\s+us-central1-a\s+RUNNING\s+one\s+2$/m);
    expect(stdout).toMatch(/^provision\s+0\s+0$/m);
  });

  it('shows the last transitions, and those that come until it is interrupted', async () => {
    const log = openFunctionsLog(cloud.dataDir, { onProblem: () => {} });
    const { log: write } = createLogger(log.write);
    const change = (index: number) =>
      write('INFO', 'A job started.', {
        ...{ kind: 'transition', record: 'job', jobId: `job_${index}`, event: 'REPLICA_STARTED', from: 'PREPARING' },
        ...{ to: 'RUNNING', attempt: 1, zone: 'us-central1-a', cause: null, inStateMs: 60_000, by: null },
      });
    for (let index = 0; index < 25; index += 1) {
      change(index);
    }
    const line = /^\d\d:\d\d:\d\d\s+job_(\d+)\s+1 min\s+PREPARING → RUNNING\s+REPLICA_STARTED\s+1\s+us-central1-a$/;
    const idsIn = (text: string) => text.split('\n').flatMap((row) => line.exec(row)?.[1] ?? []);
    const last = Array.from({ length: 20 }, (_, index) => String(index + 5));
    expect(idsIn((await cli('status')).stdout)).toEqual(last);

    const interruption = new AbortController();
    const written: string[] = [];
    const stdout = {
      ...{ terminal: null, hasColors: false },
      write(text: string | Uint8Array) {
        written.push(String(text));
        // The first write is that of the state.
        written.length === 1 ? change(25) : interruption.abort();
      },
    };
    const io = { dataDir: cloud.dataDir, interrupted: interruption.signal, stdout };
    expect((await runCli(['status', '--follow'], io)).code).toBe(0);
    expect(idsIn(written.join(''))).toEqual([...last, '25']);
  });

  it('follows a cloud no longer than it runs', async () => {
    const write = () => void removeEndpoints(cloud.dataDir);
    const stdout = { terminal: null, hasColors: false, write };
    const io = { dataDir: cloud.dataDir, interrupted: AbortSignal.timeout(3_000), stdout };
    expect(await runCli(['status', '--follow'], io)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('The embedded cloud has stopped'),
    });
  });

  it('prints variables in shell syntax', async () => {
    const { stdout } = await cli('env');
    expect(stdout).toContain("export CLOUDSDK_CORE_PROJECT='test-project'\n");
    expect(stdout).toContain(
      `export CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE='${cloud.endpoints.storage}/storage/v1/'\n`,
    );
    expect((await cli('env', '--format=json')).json()).toEqual([
      expect.objectContaining({ STORAGE_EMULATOR_HOST: cloud.endpoints.storage }),
    ]);
  });

  it.each([
    [['preempt', 'vm-1'], 'POST /vms/vm-1:preempt'],
    [['reset', 'vm-1'], 'POST /vms/vm-1:reset'],
    [['host-error', 'vm-1'], 'POST /vms/vm-1:hostError'],
    [['stockout', 'us-central1-a'], 'POST /zones/us-central1-a:stockout'],
    [['stockout', 'us-central1-a', '--clear'], 'POST /zones/us-central1-a:restock'],
    [['outage', 'us-central1-a'], 'POST /zones/us-central1-a:outage'],
    [['outage', 'us-central1-a', '--clear'], 'POST /zones/us-central1-a:recover'],
  ])('sends admin %j to the admin endpoint', async (argv, request) => {
    expect((await cli('admin', ...argv)).code).toBe(0);
    expect(cloud.requests.filter((one) => one !== 'GET /status')).toEqual([request]);
  });

  it('fails for a VM that does not exist', async () => {
    expect(await cli('admin', 'preempt', 'vm-2')).toMatchObject({
      ...{
        code: 1,
        stderr: expect.stringMatching(/^error: No VM is called vm-2, and no VM runs the job vm-2.*status/),
      },
    });
  });
});

describe('dropforge up', () => {
  it('runs the cloud until it is interrupted, then stops it', async () => {
    const interruption = new AbortController();
    const asked: object[] = [];
    const stopped: string[] = [];
    const ready = new EventTarget();
    const result = runCli(['up', '--api-port', '8123', '--data-dir', `${cloud.dataDir}/other`], {
      interrupted: interruption.signal,
      startCloud: async ({ writeLog, ...options }) => {
        asked.push(options);
        writeLog('{"severity":"INFO","message":"quiet"}');
        writeLog('{"severity":"ERROR","message":"loud"}');
        setImmediate(() => ready.dispatchEvent(new Event('up')));
        return { endpoints: cloud.endpoints, stop: async () => void stopped.push('stopped') };
      },
    });
    await once(ready, 'up');
    expect(stopped).toEqual([]);
    interruption.abort();
    expect(await result).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(
        `log        ${cloud.dataDir}/other/functions.jsonl\n\nThe embedded cloud is running. Press Ctrl-C to stop it.`,
      ),
      stderr: expect.stringMatching(/^error: loud\nStopping /),
    });
    expect(asked).toEqual([{ dataDir: `${cloud.dataDir}/other`, ports: { api: 8123 } }]);
    expect(stopped).toEqual(['stopped']);
  });

  it('fails for a configuration file that does not exist, without starting the cloud', async () => {
    const argv = ['up', '--config', 'none.yaml', '--data-dir', `${cloud.dataDir}/other`];
    expect(await runCli(argv)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: The configuration file .*none\.yaml cannot be read .*check --config/),
    });
  });

  it.each(['up', 'demo'])(
    '%s checks only the lock for a running cloud, because process ids are reused',
    async (command) => {
      // The recorded endpoints name this process, which is running but is not a cloud.
      const startCloud = () => Promise.reject(new Error('The lock was checked.'));
      const result = await runCli([command], { dataDir: cloud.dataDir, startCloud });
      expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining('The lock was checked.') });
    },
  );

  it.each(['up', 'demo'])('%s rejects --deployment', async (command) => {
    expect(await cli(command, '--deployment=d.json')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`--deployment has no effect on '${command}'`),
    });
  });

  it.each(['up', 'demo', 'status'])('%s rejects a file as data directory', async (command) => {
    const file = `${cloud.dataDir}/state.sqlite`;
    for (const path of [file, `${file}/below`]) {
      expect(await runCli([command], { dataDir: path })).toMatchObject({
        code: 1,
        stderr: `error: The data directory ${path} is a file or inside a file. Pass a directory with --data-dir.\n`,
      });
    }
  });

  it('names the configuration file that is not valid YAML', async () => {
    const file = `${cloud.dataDir}/broken.yaml`;
    await writeFile(file, 'zones: [1\n');
    await expect(readEmbeddedConfig(file)).rejects.toThrow(`${file} is not valid YAML: `);
  });
});
