import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type EngineUnderTest, startEngineUnderTest } from '../support/containers/engine-under-test.ts';
import { deleteImage, type PushedImage, pushLayers, randomLayer } from '../support/containers/push-layers.ts';
import { type RegistryFront, startRegistryFront } from '../support/containers/registry-front.ts';
import {
  hasRegistry,
  type RegistryUnderTest,
  startRegistryUnderTest,
} from '../support/containers/registry-under-test.ts';

const AGENT = fileURLToPath(new URL('../../infra/vm-agent/tests/pulling_agent.py', import.meta.url));
const PASSWORD = 'correct-horse';

const LOGIN = { credentials: 'SECRET', secret: `alice:${PASSWORD}` } as const;

type Options = {
  readonly image: string;
  readonly sizeBytes: number;
  readonly credentials?: 'NONE' | 'GOOGLE' | 'SECRET';
  readonly secret?: string;
};

type Line = {
  readonly ended?: string;
  /** The host outside of Google that was not reached. */
  readonly host?: string | null;
  readonly message?: string;
  /** Files that are left in the agent's folder. */
  readonly left?: readonly string[];
  readonly log?: string;
};

type Pull = { readonly end: Line; readonly lines: readonly Line[]; readonly output: string };

const canPush = hasRegistry();
let engine: EngineUnderTest | null = null;
let registry: RegistryUnderTest;
let front: RegistryFront;

beforeAll(async () => {
  engine = canPush ? await startEngineUnderTest() : null;
  if (canPush) {
    registry = await startRegistryUnderTest();
    front = await startRegistryFront(registry.host);
  }
});

beforeEach(() => {
  if (canPush) {
    front.faults = {};
    front.blobRequests.length = 0;
    front.authorizations.length = 0;
  }
});

afterAll(async () => {
  await front?.stop();
  await registry?.stop();
  await engine?.stop();
});

/** Starts the agent's pull. `pulling` is resolved by its first line, which it prints before it starts `docker pull`. */
function startPull(options: Options) {
  const child = spawn('python3', [AGENT], {
    env: { ...process.env, ...engine?.environment },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify(options));
  const { promise: pulling, resolve: onLine } = Promise.withResolvers<void>();
  return { child, pulling, pulled: readPull(child, onLine) };
}

async function readPull(child: ReturnType<typeof spawn>, onLine: () => void): Promise<Pull> {
  const texts: string[] = [];
  const lines: Line[] = [];
  for await (const text of createInterface(child.stdout as NodeJS.ReadableStream)) {
    texts.push(text);
    lines.push(JSON.parse(text) as Line);
    onLine();
  }
  if (child.exitCode === null && child.signalCode === null) {
    await once(child, 'exit');
  }
  return { end: lines.at(-1) ?? {}, lines, output: texts.join('\n') };
}

const pull = (options: Options): Promise<Pull> => startPull(options).pulled;

/** The command `docker pull` of this agent: its process id, its environment, and all command lines of this machine. */
async function findCommand(agent: number | undefined) {
  const { stdout } = await promisify(execFile)('ps', ['-ww', '-eo', 'ppid=,pid=,args=']);
  const line = stdout.split('\n').find((text) => text.trim().startsWith(`${agent} `) && text.includes(' pull '));
  const pid = Number(line?.trim().split(/ +/)[1]);
  const environment = await readFile(`/proc/${pid}/environ`, 'utf8');
  const config = /DOCKER_CONFIG=([^\0]+)/.exec(environment)?.[1] ?? '';
  return { pid, environment, config, processes: stdout };
}

describe("the agent's pull of an image", () => {
  async function push(layers: readonly Buffer[], repository = 'team/trainer'): Promise<PushedImage & Options> {
    const image = await pushLayers(`${registry.host}/${repository}`, layers);
    return { ...image, image: `${front.host}/${repository}@${image.digest}` };
  }

  const optionsOf = ({ image, sizeBytes }: Options): Options => ({ image, sizeBytes });

  function test(name: string, body: () => Promise<void>): void {
    it(name, async (context) => {
      if (engine === null) {
        context.skip('docker or docker-registry is not installed');
      }
      await body();
    });
  }

  test('leaves no file, and downloads nothing that the machine has', async () => {
    const base = randomLayer(1_000_000);
    const first = await push([base]);
    expect((await pull(optionsOf(first))).end).toMatchObject({ ended: 'PULLED', left: [] });

    front.blobRequests.length = 0;
    const second = await push([base, randomLayer(1_000)]);
    expect((await pull(optionsOf(second))).end.ended).toBe('PULLED');
    expect(front.blobRequests.filter((request) => request.includes(first.layers[0] ?? ''))).toEqual([]);

    front.blobRequests.length = 0;
    const again = await pull(optionsOf(second));
    expect(again.lines[0]?.log).toMatch(/is on this machine: nothing is pulled/);
    expect(front.blobRequests).toEqual([]);
  });

  test('goes on where a connection was cut', async () => {
    const image = await push([randomLayer(4_000_000)]);
    front.faults = { cut: { afterBytes: 1_500_000, countMax: 1 } };
    expect((await pull(optionsOf(image))).end.ended).toBe('PULLED');
    const ranges = front.blobRequests.filter((request) => request.includes(image.layers[0] ?? ''));
    expect(ranges.length).toBe(2);
    expect(ranges.at(1)).toMatch(/ bytes=1\d{6}-/);
  });

  test('logs in with a secret, which is in no line that it prints', async () => {
    const image = await push([randomLayer(1_000)]);
    front.faults = { login: `alice:${PASSWORD}` };
    const { end, output } = await pull({ ...optionsOf(image), ...LOGIN });
    expect(end).toMatchObject({ ended: 'PULLED', left: [] });
    expect(output).not.toContain(PASSWORD);
  });

  test('has its login in no file, argument or variable, and nowhere after the agent was killed', async () => {
    const image = await push([randomLayer(2_000_000)]);
    const stalled = Promise.withResolvers<void>();
    front.faults = { login: `alice:${PASSWORD}`, stall: stalled.resolve };
    const { child, pulled } = startPull({ ...optionsOf(image), ...LOGIN });
    await stalled.promise;
    const { pid, environment, config, processes } = await findCommand(child.pid);
    const encoded = Buffer.from(`alice:${PASSWORD}`).toString('base64');
    expect(await readFile(`${config}/config.json`, 'utf8')).toContain(encoded);
    const entries = await readdir(config, { withFileTypes: true });
    expect(entries.map((entry) => [entry.name, entry.isFile()])).toEqual([['config.json', false]]);
    for (const text of [PASSWORD, encoded]) {
      expect(processes + environment).not.toContain(text);
    }

    child.kill('SIGKILL');
    await pulled;
    await expect(readFile(`${config}/config.json`, 'utf8')).rejects.toMatchObject({ code: 'ENOENT' });
    process.kill(pid, 'SIGKILL');
    front.faults = { login: `alice:${PASSWORD}` };
    expect((await pull({ ...optionsOf(image), ...LOGIN })).end).toMatchObject({ ended: 'PULLED', left: [] });
  });

  test('names the secret that the registry rejects', async () => {
    const image = await push([randomLayer(1_000)]);
    front.faults = { login: `alice:${PASSWORD}` };
    const login = { credentials: 'SECRET', secret: 'alice:wrong-horse' } as const;
    const { end, output } = await pull({ ...optionsOf(image), ...login });
    expect(end).toMatchObject({ ended: 'IMAGE_PULL_FAILED', left: [] });
    expect(end.message).toMatch(
      /does not let this VM pull .*\(with the secret projects\/lab\/secrets\/ghcr\/versions\/1/,
    );
    expect(output).not.toContain('wrong-horse');
    const anonymous = await pull(optionsOf(image));
    expect(anonymous.end.message).toMatch(/does not let this VM pull .*\(without credentials\)\. Name a secret/);
  });

  test("never sends the VM's access token to a registry that is not Google's", async () => {
    const image = await push([randomLayer(1_000)]);
    front.faults = { login: `alice:${PASSWORD}` };
    const { end } = await pull({ ...optionsOf(image), credentials: 'GOOGLE' });
    expect(end.ended).toBe('IMAGE_PULL_FAILED');
    const sent = front.authorizations.map((header) => Buffer.from(header.replace(/^\w+ /, ''), 'base64').toString());
    expect([...front.authorizations, ...sent].join()).not.toContain('ya29');
  });

  test('says that an image was deleted after it was pinned', async () => {
    const image = await push([randomLayer(1_000)], 'team/deleted');
    await deleteImage(`${registry.host}/team/deleted`, image.digest);
    const { end } = await pull(optionsOf(image));
    expect(end).toMatchObject({ ended: 'IMAGE_PULL_FAILED' });
    expect(end.message).toMatch(/no longer exists: it was deleted after the job was submitted\. Push the image again/);
  });

  test('says that the registry limits pulls', async () => {
    const image = await push([randomLayer(1_000)]);
    front.faults = { answer: { status: 429, code: 'TOOMANYREQUESTS' } };
    const { end } = await pull({ ...optionsOf(image) });
    expect(end).toMatchObject({ ended: 'IMAGE_PULL_FAILED' });
    expect(end.message).toMatch(/limits how many images this VM may pull .* copy the image to Artifact Registry/);
  });

  test('is a failure of the service if the registry does not answer', async () => {
    const { end } = await pull({
      image: `127.0.0.1:1/team/trainer@sha256:${'ab'.repeat(32)}`,
      sizeBytes: 1_000,
    });
    expect(end).toMatchObject({ ended: 'SERVICE_UNREACHABLE', host: '127.0.0.1:1' });
    expect(end.message).toMatch(/^The registry 127\.0\.0\.1:1 was unreachable/);
  });

  test('refuses a layer that is longer than the image says', async () => {
    const image = await push([randomLayer(100_000)]);
    front.faults = { addsBytes: 40_000_000 };
    const { end } = await pull({ ...optionsOf(image) });
    expect(end).toMatchObject({ ended: 'IMAGE_PULL_FAILED' });
    expect(end.message).toMatch(/do not match its digest or size/);
  });

  test('refuses an image of another architecture', async () => {
    const foreign = process.arch === 'arm64' ? 'amd64' : 'arm64';
    const image = await pushLayers(`${registry.host}/team/foreign`, [randomLayer(1_000)], foreign);
    const { end } = await pull({ image: image.uri, sizeBytes: image.sizeBytes });
    expect(end).toMatchObject({ ended: 'IMAGE_PULL_FAILED' });
    expect(end.message).toContain(`is for ${foreign}`);
  });

  test('ends at once when the VM is shut down, and leaves another pull of the same image alone', async () => {
    const image = await push([randomLayer(2_000_000)]);
    const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    front.faults = {
      hold: (path) => {
        held.resolve();
        return path.endsWith(image.layers[0] ?? '') ? released.promise : Promise.resolve();
      },
    };
    // One after the other: a request proves that the first one's agent handles signals.
    const first = startPull(optionsOf(image));
    await held.promise;
    const second = startPull(optionsOf(image));
    await second.pulling;
    const stoppedAt = Date.now();
    first.child.kill('SIGTERM');
    expect((await first.pulled).end).toMatchObject({ ended: 'STOPPED', left: [] });
    expect(Date.now() - stoppedAt).toBeLessThan(20_000);
    released.resolve();
    expect((await second.pulled).end).toMatchObject({ ended: 'PULLED', left: [] });
  });
});
