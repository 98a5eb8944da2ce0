import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
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

type Options = {
  readonly image: string;
  readonly sizeBytes: number;
  readonly credentials?: 'NONE' | 'GOOGLE' | 'SECRET';
  readonly secret?: string;
  readonly retrySeconds?: number;
};

type Line = {
  readonly ended?: string;
  readonly message?: string;
  readonly evidence?: readonly string[];
  /** Files that are left in the agent's folder. */
  readonly left?: readonly string[];
  readonly log?: string;
  readonly doneBytes?: number;
};

type Pull = { readonly end: Line; readonly lines: readonly Line[]; readonly output: string };

const isPodmanThere = await promisify(execFile)('podman', ['info']).then(
  () => true,
  () => false,
);
const canPush = hasRegistry();
const pulled = new Set<string>();
let shared: EngineUnderTest | null = null;
let registry: RegistryUnderTest;
let front: RegistryFront;

beforeAll(async () => {
  shared = canPush ? await startEngineUnderTest() : null;
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
  if (isPodmanThere && pulled.size > 0) {
    // Podman has no private store here; a private Docker daemon takes its images with it.
    await promisify(execFile)('podman', ['image', 'rm', '--ignore', ...pulled]);
  }
  await front?.stop();
  await registry?.stop();
  await shared?.stop();
});

/** Runs the agent's pull, until SIGTERM if `shutDown` is aborted. */
async function pull(
  environment: Readonly<Record<string, string>>,
  options: Options,
  shutDown: AbortSignal = new AbortController().signal,
): Promise<Pull> {
  pulled.add(options.image);
  const child = spawn('python3', [AGENT], {
    env: { ...process.env, ...environment },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify(options));
  shutDown.addEventListener('abort', () => child.kill('SIGTERM'));
  const texts: string[] = [];
  const lines: Line[] = [];
  for await (const text of createInterface(child.stdout)) {
    texts.push(text);
    lines.push(JSON.parse(text) as Line);
  }
  if (child.exitCode === null) {
    await once(child, 'exit');
  }
  return { end: lines.at(-1) ?? {}, lines, output: texts.join('\n') };
}

const KINDS = ['docker', 'podman'] as const;

describe.each(KINDS)('a pull with %s', (kind) => {
  const environment = () => (kind === 'docker' ? (shared?.environment ?? {}) : { DOCKER_HOST: 'unix:///nonexistent' });
  const isThere = () => canPush && (kind === 'docker' ? shared?.kind === 'docker' : isPodmanThere);

  async function push(layers: readonly Buffer[], repository = 'team/trainer'): Promise<PushedImage & Options> {
    const image = await pushLayers(`${registry.host}/${repository}`, layers);
    return { ...image, image: `${front.host}/${repository}@${image.digest}` };
  }

  const optionsOf = ({ image, sizeBytes }: Options): Options => ({ image, sizeBytes });

  function test(name: string, body: () => Promise<void>): void {
    it(name, async (context) => {
      if (!isThere()) {
        context.skip(`${kind} or docker-registry is not installed`);
      }
      await body();
    });
  }

  test('reports bytes, leaves no file, and downloads nothing that the machine has', async () => {
    const base = randomLayer(3_000_000);
    const first = await push([base]);
    const { end, lines } = await pull(environment(), optionsOf(first));
    expect(end).toMatchObject({ ended: 'PULLED', left: [] });
    const done = lines.flatMap(({ doneBytes }) => doneBytes ?? []);
    expect(done[0]).toBe(0);
    expect(done.length).toBeGreaterThan(2);
    expect(Math.max(...done)).toBeGreaterThan(2_900_000);
    expect(done).toEqual(done.toSorted((one, other) => one - other));

    front.blobRequests.length = 0;
    const second = await push([base, randomLayer(1_000)]);
    expect((await pull(environment(), optionsOf(second))).end.ended).toBe('PULLED');
    expect(front.blobRequests.filter((request) => request.includes(first.layers[0] ?? ''))).toEqual([]);

    front.blobRequests.length = 0;
    const again = await pull(environment(), optionsOf(second));
    expect(again.lines[0]?.log).toMatch(/is on this machine: nothing is pulled/);
    expect(front.blobRequests).toEqual([]);
  });

  test('goes on where a connection was cut', async () => {
    const image = await push([randomLayer(4_000_000)]);
    // Docker waits for longer before each try.
    front.faults = { cut: { afterBytes: 1_500_000, countMax: kind === 'docker' ? 1 : 2 } };
    expect((await pull(environment(), optionsOf(image))).end.ended).toBe('PULLED');
    const ranges = front.blobRequests.filter((request) => request.includes(image.layers[0] ?? ''));
    expect(ranges.length).toBe(kind === 'docker' ? 2 : 3);
    expect(ranges.at(1)).toMatch(/ bytes=1\d{6}-/);
  });

  test('logs in with a secret, which is in no line that it prints', async () => {
    const image = await push([randomLayer(1_000)]);
    front.faults = { login: `alice:${PASSWORD}` };
    const login = { credentials: 'SECRET', secret: `alice:${PASSWORD}` } as const;
    const { end, output } = await pull(environment(), { ...optionsOf(image), ...login });
    expect(end).toMatchObject({ ended: 'PULLED', left: [] });
    expect(output).not.toContain(PASSWORD);
  });

  test('names the secret that the registry rejects', async () => {
    const image = await push([randomLayer(1_000)]);
    front.faults = { login: `alice:${PASSWORD}` };
    const login = { credentials: 'SECRET', secret: 'alice:wrong-horse' } as const;
    const { end, output } = await pull(environment(), { ...optionsOf(image), ...login });
    expect(end).toMatchObject({ ended: 'IMAGE_PULL_FAILED', left: [] });
    expect(end.message).toMatch(
      /does not let this VM pull .*\(with the secret projects\/lab\/secrets\/ghcr\/versions\/1/,
    );
    expect(output).not.toContain('wrong-horse');
    const anonymous = await pull(environment(), optionsOf(image));
    expect(anonymous.end.message).toMatch(/does not let this VM pull .*\(without credentials\)\. Name a secret/);
  });

  test("never sends the VM's access token to a registry that is not Google's", async () => {
    const image = await push([randomLayer(1_000)]);
    front.faults = { login: `alice:${PASSWORD}` };
    const { end } = await pull(environment(), { ...optionsOf(image), credentials: 'GOOGLE' });
    expect(end.ended).toBe('IMAGE_PULL_FAILED');
    const sent = front.authorizations.map((header) => Buffer.from(header.replace(/^\w+ /, ''), 'base64').toString());
    expect([...front.authorizations, ...sent].join()).not.toContain('ya29');
  });

  test('says that an image was deleted after it was pinned', async () => {
    const image = await push([randomLayer(1_000)], 'team/deleted');
    await deleteImage(`${registry.host}/team/deleted`, image.digest);
    const { end } = await pull(environment(), optionsOf(image));
    expect(end).toMatchObject({ ended: 'IMAGE_PULL_FAILED' });
    expect(end.message).toMatch(/no longer exists: it was deleted after the job was submitted\. Push the image again/);
  });

  test('says that the registry limits pulls, after a few tries', async () => {
    const image = await push([randomLayer(1_000)]);
    front.faults = { answer: { status: 429, code: 'TOOMANYREQUESTS' } };
    const { end } = await pull(environment(), { ...optionsOf(image), retrySeconds: 5 });
    expect(end).toMatchObject({ ended: 'IMAGE_PULL_FAILED' });
    expect(end.message).toMatch(/limits how many images this VM may pull .* copy the image to Artifact Registry/);
  });

  test('is a failure of the service if the registry does not answer', async () => {
    const { end } = await pull(environment(), {
      image: `127.0.0.1:1/team/trainer@sha256:${'ab'.repeat(32)}`,
      ...{ sizeBytes: 1_000, retrySeconds: 2 },
    });
    expect(end).toMatchObject({ ended: 'SERVICE_UNREACHABLE' });
    expect(end.message).toMatch(/^The registry 127\.0\.0\.1:1 was unreachable/);
  });

  test('refuses a layer that is longer than the image says', async () => {
    const image = await push([randomLayer(100_000)]);
    front.faults = { addsBytes: 40_000_000 };
    const { end } = await pull(environment(), { ...optionsOf(image), retrySeconds: 5 });
    expect(end).toMatchObject({ ended: 'IMAGE_PULL_FAILED' });
    expect(end.message).toMatch(/do not match its digest or size/);
  });

  test('refuses an image of another architecture', async () => {
    const foreign = process.arch === 'arm64' ? 'amd64' : 'arm64';
    const image = await pushLayers(`${registry.host}/team/foreign`, [randomLayer(1_000)], foreign);
    const { end } = await pull(environment(), { image: image.uri, sizeBytes: image.sizeBytes });
    expect(end).toMatchObject({ ended: 'IMAGE_PULL_FAILED' });
    expect(end.message).toContain(`is for ${foreign}`);
  });

  test('ends at once when the VM is shut down', async () => {
    const image = await push([randomLayer(2_000_000)]);
    const shutDown = new AbortController();
    let stoppedAt = 0;
    front.faults = {
      stall: () => {
        stoppedAt = Date.now();
        shutDown.abort();
      },
    };
    const { end } = await pull(environment(), optionsOf(image), shutDown.signal);
    expect(end).toMatchObject({ ended: 'STOPPED', left: [] });
    expect(Date.now() - stoppedAt).toBeLessThan(20_000);
  });

  // Docker itself follows the registry, whose TLS certificate vouches for the address of its token service.
  const testRelay = kind === 'podman' ? test : () => {};
  testRelay('refuses a token service on another host, which would receive the password', async () => {
    const image = await push([randomLayer(1_000)]);
    front.faults = { login: `alice:${PASSWORD}`, realm: `http://localhost:${front.host.split(':')[1]}/token` };
    const login = { credentials: 'SECRET', secret: `alice:${PASSWORD}` } as const;
    const { end } = await pull(environment(), { ...optionsOf(image), ...login });
    expect(end.evidence?.join()).toContain('is on another host');
    expect(front.authorizations).toEqual([]);
  });
});
