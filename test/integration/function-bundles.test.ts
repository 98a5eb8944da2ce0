import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { unzipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FUNCTION_NAMES, type FunctionName } from '#functions/functions.ts';
import { closeServer, HOST, listen } from '#infra/embedded/http/server.ts';
import { compileFunction, readCodeCache } from '#infra/tools/bundle-functions/archive/function-script.ts';
import {
  type Bundle,
  bundleFunction,
  bundleFunctions,
  writeBundle,
} from '#infra/tools/bundle-functions/bundle-function.ts';
import { checkPatterns } from '#infra/tools/bundle-functions/bundle-plugins.ts';
import { traceIdOf } from '#shared/observability/invocation.ts';
import {
  type BundleProcess,
  firstResponse,
  pushBody,
  settingsAt,
  startBundle,
} from '../support/functions/bundle-process.ts';
import { EXAMPLE_SETTINGS } from '../support/functions/example-settings.ts';
import { ANY_CONTENT_FUNCTIONS, SCHEMA_FUNCTIONS } from '../support/functions/message-content.ts';

const BUNDLE_MS_MAX = 180_000;

let directory: string;
let bundles: ReadonlyMap<FunctionName, Bundle>;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'dropforge-bundles-'));
  const built = await bundleFunctions();
  await Promise.all(built.map((bundle) => writeBundle(bundle, directory)));
  bundles = new Map(built.map((bundle) => [bundle.name, bundle]));
}, BUNDLE_MS_MAX);

afterAll(() => rm(directory, { recursive: true, force: true }));

function bundleOf(name: FunctionName): Bundle {
  const bundle = bundles.get(name);
  if (bundle === undefined) {
    throw new Error(`${name} has no bundle.`);
  }
  return bundle;
}

async function sendTo(host: string, name: FunctionName, body: string) {
  const running = await startBundle(join(directory, name), name, settingsAt(host));
  try {
    const { status } = await firstResponse(running, body);
    await running.stop();
    return { status, output: await running.output };
  } finally {
    await running.stop();
  }
}

describe('a deployed function', () => {
  // One process of each function handles all of its requests here, as an instance of Cloud Run does.
  const started = new Map<FunctionName, Promise<BundleProcess>>();
  afterAll(async () => {
    for (const running of started.values()) {
      await (await running).stop();
    }
  });

  async function send(name: FunctionName, body: string) {
    const starting = started.get(name) ?? startBundle(join(directory, name), name, settingsAt());
    started.set(name, starting);
    const running = await starting;
    const { status } = await firstResponse(running, body);
    return { status, written: running.written };
  }

  it.each(SCHEMA_FUNCTIONS)('%s logs a malformed message and acknowledges it', async (name) => {
    const { status, written } = await send(name, pushBody('not JSON'));
    expect(status).toBe(204);
    await expect.poll(written).toContain('message is malformed');
  });

  it.each(ANY_CONTENT_FUNCTIONS)('%s logs a push without a message and acknowledges it', async (name) => {
    const { status, written } = await send(name, '{}');
    expect(status).toBe(204);
    await expect.poll(written).toContain('message is malformed');
  });

  it.each(FUNCTION_NAMES)('%s rejects a body that is not JSON', async (name) => {
    expect((await send(name, '{')).status).toBe(400);
  });

  it('heartbeat rejects requests without an identity', async () => {
    expect((await send('heartbeat', '{}')).status).toBe(401);
  });

  it('api returns 404 for an unknown path', async () => {
    expect((await send('api', '{}')).status).toBe(404);
  });

  it('logs an exception that no handler catches as an error, without its secret', async () => {
    const preload = join(directory, 'throw-later.cjs');
    await writeFile(preload, "process.on('SIGUSR2', () => { throw new Error('out of tune: ya29.hunter2hunter2'); });");
    const running = await startBundle(join(directory, 'watch'), 'watch', {
      ...settingsAt(),
      NODE_OPTIONS: `--require=${preload}`,
    });
    await firstResponse(running, '{');
    running.child.kill('SIGUSR2');
    const lines = (await running.output).trim().split('\n');
    const errors = lines.map((line) => JSON.parse(line)).filter(({ severity }) => severity === 'ERROR');
    expect(errors).toContainEqual(
      expect.objectContaining({
        ...{ problem: 'out of tune: ***', stack_trace: expect.stringMatching(/\n {4}at /), kind: 'error' },
        serviceContext: expect.objectContaining({ service: 'watch' }),
      }),
    );
    expect(lines.join()).not.toContain('hunter2');
  });

  it.each(FUNCTION_NAMES)('%s does not start without settings, and reports all that are missing', async (name) => {
    const running = await startBundle(join(directory, name), name, {});
    const [code] = await once(running.child, 'exit');
    expect(code).toBe(1);
    expect(await running.output).toMatch(/PROJECT_ID is missing[\s\S]*FIRESTORE_DATABASE is missing/);
  });
});

describe('the code cache that Cloud Build creates', () => {
  const CACHE = join('watch', 'function.cache');
  const start = async (folder: string) => {
    const running = await startBundle(join(folder, 'watch'), 'watch', settingsAt());
    const { status } = await firstResponse(running, '{');
    await running.stop();
    return status;
  };
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dropforge-code-cache-'));
    await cp(join(directory, 'watch'), join(folder, 'watch'), { recursive: true });
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('is accepted by V8, and is not part of the archive, which does not depend on the Node version', async () => {
    const script = compileFunction(join(folder, 'watch'), readCodeCache(join(folder, 'watch')));
    expect(script.cachedDataRejected).toBe(false);
    expect(Object.keys(bundleOf('watch').files)).not.toContain('function.cache');
  });

  it.each([
    ['is invalid', () => writeFile(join(folder, CACHE), 'created by another version')],
    ['is missing', () => rm(join(folder, CACHE))],
  ])('is optional: the function starts if it %s', async (_, invalidate) => {
    await invalidate();
    expect(await start(folder)).toBe(400);
  });

  it('does not fail the deployment if it cannot be created', async () => {
    await rm(join(folder, 'watch', 'function.js'));
    const { stdout } = await promisify(execFile)(process.execPath, ['compile.js'], { cwd: join(folder, 'watch') });
    expect(stdout).toContain('No code cache was created; cold starts will be slower');
  });
});

describe('the libraries in a bundle', () => {
  let google: Server;
  let host: string;
  const requests: string[] = [];

  beforeAll(async () => {
    google = createServer(async (request, response) => {
      const body = await text(request);
      requests.push(`${request.method} ${request.url?.split('?')[0]}`);
      if (body.includes('denied')) {
        response
          .writeHead(403)
          .end('{"error":{"code":403,"status":"PERMISSION_DENIED","message":"Denied to Bearer hunter2hunter2"}}');
        return;
      }
      const [document] = (JSON.parse(body || '{}') as { documents?: string[] }).documents ?? [];
      const found = document === undefined ? {} : [{ missing: document, readTime: '2026-01-01T00:00:00Z' }];
      response.setHeader('content-type', 'application/json').end(JSON.stringify(found));
    });
    host = `${HOST}:${await listen(google, 0)}`;
  });
  afterAll(() => closeServer(google));

  it('read Firestore', async () => {
    const { status, output } = await sendTo(host, 'on-control', pushBody('{"command":"cancel","jobId":"unknown"}'));
    expect(output).toContain('job to cancel is unknown');
    expect(status).toBe(204);
    expect(requests.join()).toContain('/databases/dropforge/documents:batchGet');
  });

  it('fail as one line of JSON, with a stack, and without a copy by the framework', async () => {
    const { status, output } = await sendTo(host, 'on-control', pushBody('{"command":"cancel","jobId":"denied"}'));
    expect(status).toBe(500);
    const lines = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toEqual([
      expect.objectContaining({
        ...{ severity: 'ERROR', kind: 'error', messageId: '7', topic: 'control', jobId: 'denied' },
        stack_trace: expect.stringMatching(/Denied to \*{3}\n {4}at /),
        serviceContext: { service: 'on-control', version: EXAMPLE_SETTINGS.RELEASE },
        'logging.googleapis.com/labels': { job_id: 'denied', execution_id: expect.any(String) },
        'logging.googleapis.com/trace': `projects/example-project/traces/${traceIdOf('denied')}`,
      }),
    ]);
    expect(output).not.toContain('hunter2');
  });

  it('list VMs of Compute Engine', async () => {
    const { status, output } = await sendTo(host, 'teardown', pushBody('{"type":"SWEEP"}'));
    expect(status, output).toBe(204);
    expect(requests).toContain('GET /compute/v1/projects/example-project/aggregated/instances');
  });
});

describe('a bundle', () => {
  const COMPUTE = /@google-cloud\/compute\//;
  const STORAGE = /@google-cloud\/storage\//;
  const PUBSUB = /@google-cloud\/pubsub-api\//;
  const LIBRARIES = { PUBSUB, COMPUTE, STORAGE, JOSE: /\/jose\//, HONO: /\/hono\//, YAML: /\/yaml\// };
  const INTAKE = ['PUBSUB', 'STORAGE', 'YAML'];
  const LIBRARIES_OF: Readonly<Record<FunctionName, readonly string[]>> = {
    'on-upload': INTAKE,
    'on-submit': INTAKE,
    // It reads job files, whose reports it ends.
    'on-dead-letter': INTAKE,
    'on-control': ['PUBSUB'],
    'on-interruption': ['PUBSUB'],
    watch: ['PUBSUB'],
    report: ['STORAGE'],
    notify: [],
    provision: ['PUBSUB', 'COMPUTE', 'STORAGE'],
    teardown: ['PUBSUB', 'COMPUTE'],
    tuning: ['PUBSUB'],
    heartbeat: ['PUBSUB', 'JOSE'],
    // YAML is evaluated by the first submission only.
    // JOSE verifies the identities of callers.
    api: ['PUBSUB', 'STORAGE', 'JOSE', 'HONO', 'YAML'],
  };

  it.each(FUNCTION_NAMES)('of %s contains only those of the larger libraries that it uses', (name) => {
    const { inputs } = bundleOf(name);
    const has = Object.entries(LIBRARIES).filter(([, pattern]) => inputs.some((path) => pattern.test(path)));
    expect(has.map(([library]) => library)).toEqual(LIBRARIES_OF[name]);
  });

  it.each(FUNCTION_NAMES)('of %s contains no code of the embedded cloud, the CLI, or other functions', (name) => {
    const { inputs } = bundleOf(name);
    const foreign = /^(cli|test|infra\/embedded)\/|@google-cloud\/functions-framework\/|^functions\/index\.ts/;
    expect(inputs.filter((path) => foreign.test(path))).toEqual([]);
    const handlers = FUNCTION_NAMES.filter((other) => inputs.includes(`functions/${other}.ts`));
    expect(handlers).toEqual([name]);
  });

  it('has the package.json that Cloud Functions requires, with the tested version of the functions-framework', async () => {
    const { version } = JSON.parse(
      await readFile('node_modules/@google-cloud/functions-framework/package.json', 'utf8'),
    ) as { readonly version: string };
    expect(JSON.parse(Buffer.from(bundleOf('watch').files['package.json'] ?? []).toString())).toEqual({
      name: 'watch',
      main: 'index.js',
      engines: { node: '24' },
      scripts: { 'gcp-build': 'node compile.js' },
      dependencies: { '@google-cloud/functions-framework': version },
    });
  });

  it('has a package-lock.json that npm accepts', async () => {
    const options = { cwd: join(directory, 'watch') };
    const args = ['ls', '--all', '--package-lock-only', '--json'];
    const { stdout } = await promisify(execFile)('npm', args, options);
    const { problems, dependencies } = JSON.parse(stdout) as Record<string, unknown>;
    expect(problems).toBeUndefined();
    expect(Object.keys(Object(dependencies))).toEqual(['@google-cloud/functions-framework']);
  });

  it('is not built if a library has moved a file that the build rewrites', () => {
    const inputs = [...bundles.values()].flatMap((bundle) => bundle.inputs);
    const moved = inputs.map((path) => path.replace('google-gax/build/src/index.js', 'google-gax/dist/index.js'));
    expect(() => checkPatterns(moved)).toThrow('No bundle contains google-gax/build/src/index.js.');
  });

  it('is reproducible', async () => {
    const again = await mkdtemp(join(tmpdir(), 'dropforge-bundles-again-'));
    await writeBundle(await bundleFunction('provision'), again);
    const [first, second] = await Promise.all(
      [directory, again].map((folder) => readFile(join(folder, 'provision.zip'))),
    );
    await rm(again, { recursive: true });
    expect(first?.equals(second ?? Buffer.alloc(0))).toBe(true);
    expect(Object.keys(unzipSync(first ?? Buffer.alloc(0))).toSorted()).toEqual(
      Object.keys(bundleOf('provision').files).toSorted(),
    );
  });
});
