import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CloudUnderTest, jobFile, packProgram, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';
import {
  openFrameworkEnvironment,
  type Requirement,
  selectInstalled,
} from '../support/frameworks/framework-environment.ts';
import { leaveOut } from '../support/run/leave-out.ts';

const RUN_MS_MAX = 600_000;
const JOB_ID = 'google_clients';

/** The functions of google_clients.py. */
const CLIENTS: readonly { readonly name: string; readonly requires: readonly Requirement[] }[] = [
  { name: 'urllib', requires: [] },
  { name: 'plain_open', requires: [] },
  { name: 'google_cloud_storage', requires: ['google-cloud-storage'] },
  { name: 'gcsfs', requires: ['gcsfs'] },
  { name: 'pandas', requires: ['gcsfs', 'pandas'] },
  { name: 'tensorflow_files', requires: ['tensorflow-cpu'] },
  { name: 'keras', requires: ['tensorflow-cpu'] },
  { name: 'saved_model', requires: ['tensorflow-cpu'] },
  { name: 'torch_summary', requires: ['torch', 'tensorboard', 'tensorflow-cpu'] },
  { name: 'torch_summary_without_tensorflow', requires: ['torch', 'tensorboard', 'gcsfs'] },
  { name: 'torch_summary_without_any_client', requires: ['torch', 'tensorboard'] },
  { name: 'torch_save', requires: ['torch'] },
  // Orbax asks google-cloud-storage whether a bucket has a hierarchical namespace.
  { name: 'orbax', requires: ['orbax-checkpoint', 'etils[epath]', 'tensorflow-cpu', 'google-cloud-storage'] },
];

const environment = await openFrameworkEnvironment();
const tools = ['gcloud', 'gsutil'].filter(isOnPath).map((name) => ({ name }));
const clients = [...selectInstalled(environment, CLIENTS), ...tools];
if (tools.length === 0) {
  leaveOut('gcloud', 'gcloud and gsutil in a program');
}

function isOnPath(command: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${command}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

describe('a program that uses gs:// paths, without any setting in its job', () => {
  let cloud: CloudUnderTest;
  let lines: readonly string[];

  // One job for all clients: each framework is imported once.
  beforeAll(async () => {
    const python = environment.python ?? 'python3';
    cloud = await startCloudUnderTest({ machineImages: [{ name: 'frameworks', python }] });
    const bucket = JSON.stringify({ name: 'other-data' });
    await fetch(`${cloud.endpoints.storage}/storage/v1/b`, { method: 'POST', body: bucket });
    const program = await readFile(join(import.meta.dirname, '../support/frameworks/google_clients.py'), 'utf8');
    const job = jobFile(JOB_ID, { args: clients.map(({ name }) => name) });
    await cloud.upload('clients.tar.gz', await packProgram(program, job));
    const ended = await cloud.awaitJob(JOB_ID, undefined, RUN_MS_MAX);
    expect(ended.state, JSON.stringify(ended.cause)).toBe('SUCCEEDED');
    lines = (await cloud.readLog(JOB_ID)).map(({ text }) => text);
  }, RUN_MS_MAX);

  afterAll(() => cloud.stop());

  it.each(clients)('reads and writes with $name', ({ name }) => {
    expect(lines, lines.slice(-100).join('\n')).toContain(`passed ${name}`);
  });

  it('saves what it writes below /gcs in the job directory', async () => {
    expect(await cloud.readObject(cloud.endpoints.jobsBucket, `${JOB_ID}/by-path/result.txt`)).toBe('saved');
  });

  it('can see in its bucket what it wrote', async () => {
    expect(await cloud.readObject('other-data', 'plain.txt')).toBe('plain');
  });
});
