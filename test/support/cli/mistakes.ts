import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Io } from '../../../cli/core/command.ts';
import { openDatabase } from '../../../infra/embedded/data-dir/database.ts';
import { writeEndpoints } from '../../../infra/embedded/data-dir/endpoints.ts';
import { closeServer, HOST, listen } from '../../../infra/embedded/http/server.ts';
import { openSqliteSecretStore } from '../../../infra/embedded/secret-manager/secret-store.ts';
import { createSecretManagerServer } from '../../../infra/embedded/secret-manager/server.ts';
import { replicaOf, runCli, startTestCloud, type TestCloud, viewOf } from './test-cloud.ts';

/** A mistake that a user types or saves, and the facts of its answer. */
export type Mistake = {
  /** The arguments of `dropforge`, split at spaces outside quotes. */
  readonly typed: string;
  /** 2: the command line is wrong; 1: what it names is; 0: the mistake is understood. */
  readonly code: number;
  /** The fact, and the next right thing. */
  readonly says: readonly (string | RegExp)[];
  /** Texts that the answer must not have. */
  readonly hides?: readonly string[];
  /** In the folder in which the command runs, beside a package `trainer` and a `job.yaml` for it. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  readonly io?: Partial<Io>;
};

/** `jobs validate job.yaml` with this job file. */
export function jobFile(text: string | Uint8Array, code: number, ...says: readonly (string | RegExp)[]): Mistake {
  return { typed: 'jobs validate job.yaml', code, says, files: { 'job.yaml': text } };
}

const FILES = {
  'trainer/__init__.py': '',
  'trainer/task.py': 'print(1)\n',
  'job.yaml': 'module: trainer.task\nmachine: n1-standard-4\n',
};

/** Tests that each mistake is answered, in a folder of its own and with one cloud for all of them. */
export function describeMistakes(area: string, mistakes: readonly Mistake[]): void {
  let cloud: TestCloud;
  let secretManager: Server;

  beforeAll(async () => {
    cloud = await startTestCloud();
    const secrets = openSqliteSecretStore(openDatabase(':memory:'), Date);
    secrets.create('hf-token');
    secretManager = createServer(getRequestListener(createSecretManagerServer(secrets, 'test-project').fetch));
    const address = `http://${HOST}:${await listen(secretManager, 0)}`;
    await writeEndpoints(cloud.dataDir, { ...cloud.endpoints, secretManager: address });
    cloud.vms.push({ vmName: 'vm-1', jobId: 'digits_2', zone: 'z', instanceId: '17', attempt: 1, status: 'RUNNING' });
    cloud.jobs.set('digits', [viewOf('digits')]);
    cloud.jobs.set('digits_2', [viewOf('digits_2', { state: 'RUNNING', endTime: null, replicas: [replicaOf()] })]);
    for (const name of ['digits/model/weights.npz', 'digits/model/config.json', 'digits/log.txt']) {
      await cloud.store.write({ bucket: 'jobs', name }, Buffer.from(name));
    }
  });
  afterAll(async () => {
    await closeServer(secretManager);
    await cloud.close();
  });

  describe(area, () => {
    it.each(mistakes.map((mistake) => [titleOf(mistake), mistake] as const))('answers %s', async (_, mistake) => {
      const cwd = await mkdtemp(join(cloud.dataDir, 'row-'));
      for (const [name, content] of Object.entries({ ...FILES, ...mistake.files })) {
        await mkdir(dirname(join(cwd, name)), { recursive: true });
        await writeFile(join(cwd, name), content);
      }
      const argv = splitWords(mistake.typed);
      const { code, stdout, stderr } = await runCli(argv, { dataDir: cloud.dataDir, cwd, ...mistake.io });
      const answer = `${stdout}${stderr}`.replaceAll(cwd, '.').replaceAll(cloud.dataDir, 'DATA');
      for (const fact of mistake.says) {
        expect(answer).toEqual(typeof fact === 'string' ? expect.stringContaining(fact) : expect.stringMatching(fact));
      }
      for (const secret of mistake.hides ?? []) {
        expect(answer).not.toContain(secret);
      }
      expect(code).toBe(mistake.code);
      await rm(cwd, { recursive: true });
    });
  });
}

function titleOf({ typed, files = {} }: Mistake): string {
  const [content] = Object.values(files);
  const shown = content === undefined ? '' : ` with ${JSON.stringify(content.slice(0, 60).toString())}`;
  return `${typed}${shown}`;
}

/** Splits a line as a shell does, without expansions. */
function splitWords(line: string): readonly string[] {
  const words = line.match(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g) ?? [];
  return words.map((word) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'));
}

export const stdinOf = (text: string): Partial<Io> => ({ openStdin: () => Readable.from([Buffer.from(text)]) });
