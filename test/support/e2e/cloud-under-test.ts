import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { pack } from 'tar-stream';
import { type EmbeddedCloud, type EmbeddedCloudOptions, startEmbeddedCloud } from '#infra/embedded/embedded-cloud.ts';
import type { EmbeddedConfigInput } from '#infra/embedded/embedded-config.ts';
import type { LogEntry } from '#shared/ports/log-store.ts';
import { type JobView, jobViewSchema } from '#shared/protocol/job-view.ts';
import { type Report, reportSchema } from '#shared/protocol/report.ts';

const POLL_MS = 50;
const FINAL_STATES = ['SUCCEEDED', 'FAILED', 'CANCELLED'];

export type Files = Readonly<Record<string, string | Uint8Array>>;

/** `subdirectory` is the path of the data directory in a new temporary directory. */
type Options = Pick<EmbeddedCloudOptions, 'wrapPorts'> &
  Partial<Pick<EmbeddedCloudOptions, 'environment'>> & { readonly subdirectory?: string };

/** An embedded cloud as a user starts it, in its own directory, used through its HTTP APIs only. */
export async function startCloudUnderTest(config: EmbeddedConfigInput = {}, options: Options = {}) {
  const { wrapPorts, environment = process.env, subdirectory = '' } = options;
  const temporary = await mkdtemp(join(tmpdir(), 'dropforge-e2e-'));
  const dataDir = join(temporary, subdirectory);
  const log: string[] = [];
  const cloud = await startEmbeddedCloud({
    dataDir,
    config,
    environment,
    wrapPorts,
    writeLog: (line) => void log.push(line),
  });
  async function stop(): Promise<void> {
    await cloud.stop();
    await rm(temporary, { recursive: true, force: true });
  }
  return Object.assign(createUser(cloud.endpoints), { dataDir, log, endpoints: cloud.endpoints, stop });
}

export type CloudUnderTest = Awaited<ReturnType<typeof startCloudUnderTest>>;

function hasEnded({ state }: JobView): boolean {
  return FINAL_STATES.includes(state);
}

/** The actions of a user, over HTTP. */
export function createUser(endpoints: EmbeddedCloud['endpoints']) {
  const { api, storage, admin, pubsub, uploadBucket, projectId } = endpoints;

  async function upload(name: string, body: string | Uint8Array): Promise<void> {
    const url = `${storage}/upload/storage/v1/b/${uploadBucket}/o?uploadType=media&name=${encodeURIComponent(name)}`;
    const response = await fetch(url, { method: 'POST', body: Buffer.from(body) });
    if (!response.ok) {
      throw new Error(`Upload of ${name}: ${response.status} ${await response.text()}`);
    }
  }

  async function readObject(bucket: string, name: string): Promise<string | undefined> {
    const response = await fetch(`${storage}/storage/v1/b/${bucket}/o/${encodeURIComponent(name)}?alt=media`);
    return response.ok ? response.text() : undefined;
  }

  async function findReport(name: string): Promise<Report | undefined> {
    const text = await readObject(uploadBucket, name);
    return text === undefined ? undefined : reportSchema.parse(JSON.parse(text));
  }

  async function readJob(jobId: string): Promise<JobView | undefined> {
    const response = await fetch(`${api}/v1/jobs/${jobId}`);
    return response.ok ? jobViewSchema.parse(await response.json()) : undefined;
  }

  return {
    upload,
    readObject,
    readJob,
    /** Resolves with the report beside an upload once it satisfies the predicate; by default, once it exists. */
    awaitReport: (name: string, matches: (report: Report) => boolean = () => true) =>
      until(`report ${name}`, async () => {
        const report = await findReport(name);
        return report !== undefined && matches(report) ? report : undefined;
      }),
    awaitJob: (jobId: string, matches: (job: JobView) => boolean = hasEnded, timeoutMs?: number) =>
      until(
        `job ${jobId}`,
        async () => {
          const job = await readJob(jobId);
          return job !== undefined && matches(job) ? job : undefined;
        },
        timeoutMs,
      ),
    /** Resolves with the message's id. */
    async publish(topic: string, data: string | object): Promise<string> {
      const text = typeof data === 'string' ? data : JSON.stringify(data);
      const messages = [{ data: Buffer.from(text).toString('base64') }];
      const response = await fetch(`${pubsub}/v1/projects/${projectId}/topics/${topic}:publish`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ messages }),
      });
      if (!response.ok) {
        throw new Error(`Publishing on ${topic}: ${response.status} ${await response.text()}`);
      }
      const [messageId = ''] = ((await response.json()) as { readonly messageIds: readonly string[] }).messageIds;
      return messageId;
    },
    async listVms(): Promise<readonly { readonly vmName: string; readonly jobId: string }[]> {
      const status = (await (await fetch(`${admin}/status`)).json()) as { vms: { vmName: string; jobId: string }[] };
      return status.vms;
    },
    async act(path: string): Promise<Response> {
      return fetch(`${admin}${path}`, { method: 'POST' });
    },
    async cancel(jobId: string): Promise<void> {
      await fetch(`${api}/v1/jobs/${jobId}:cancel`, { method: 'POST' });
    },
    async readLog(jobId: string): Promise<readonly LogEntry[]> {
      const entries: LogEntry[] = [];
      let cursor = '';
      for (;;) {
        const response = await fetch(`${api}/v1/jobs/${jobId}/logs?${new URLSearchParams({ cursor })}`);
        const page = (await response.json()) as { readonly entries: readonly LogEntry[]; readonly cursor: string };
        if (page.entries.length === 0) {
          return entries;
        }
        entries.push(...page.entries);
        cursor = page.cursor;
      }
    },
  };
}

export async function until<T>(what: string, look: () => Promise<T | undefined>, timeoutMs = 60_000): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) {
      return found;
    }
    if (Date.now() > deadline) {
      throw new Error(`Waited ${timeoutMs} ms for ${what}.`);
    }
    await delay(POLL_MS);
  }
}

/** A tar.gz of these files, as `tar -czf` would create it. */
export async function packFiles(files: Files): Promise<Uint8Array> {
  const archive = pack();
  for (const [name, content] of Object.entries(files)) {
    archive.entry({ name }, Buffer.from(content));
  }
  archive.finalize();
  // Not on this thread, on which the cloud answers, too.
  return promisify(gzip)(await buffer(archive));
}

/** A source distribution that runs this program as trainer.task, with a job file at its root. */
export async function packProgram(program: string, job: object): Promise<Uint8Array> {
  return packFiles({
    'pkg/setup.py': "from setuptools import setup\nsetup(name='pkg', version='1', packages=['trainer'])\n",
    'pkg/trainer/__init__.py': '',
    'pkg/trainer/task.py': program,
    'pkg/job.json': JSON.stringify(job),
  });
}

export function jobFile(jobId: string, trainingInput: object = {}): object {
  return {
    jobId,
    trainingInput: { scaleTier: 'BASIC', region: 'us-central1', pythonModule: 'trainer.task', ...trainingInput },
  };
}

/** A Vertex AI job for one machine with a GPU that waits for capacity. */
export function flexStartFile(displayName: string, scheduling: object = {}): object {
  const pythonPackageSpec = { packageUris: [`${displayName}.tar.gz`], pythonModule: 'trainer.task' };
  const machineSpec = { machineType: 'g2-standard-4', acceleratorType: 'NVIDIA_L4', acceleratorCount: 1 };
  return {
    displayName,
    jobSpec: {
      workerPoolSpecs: [{ machineSpec, replicaCount: 1, pythonPackageSpec }],
      scheduling: { strategy: 'FLEX_START', ...scheduling },
    },
  };
}
