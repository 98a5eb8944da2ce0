import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { arch, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EngineUnderTest, startEngineUnderTest } from '../support/containers/engine-under-test.ts';
import {
  hasRegistry,
  type RegistryUnderTest,
  startRegistryUnderTest,
} from '../support/containers/registry-under-test.ts';
import { buildTestImage } from '../support/containers/test-image.ts';

const MAIN = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));
const BUILD_MS_MAX = 120_000;

const engine = arch() === 'x64' ? await startEngineUnderTest() : null;
const canPush = engine !== null && hasRegistry();

let folder: string;
let program: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dropforge-images-'));
  program = join(folder, 'program');
  await write('program/trainer/__init__.py', '');
  await write('program/trainer/task.py', PROGRAM);
  await write('program/.env', 'TOKEN=abcdefghijkl123\n');
});
afterAll(async () => {
  await engine?.stop();
  await rm(folder, { recursive: true });
});

const PROGRAM = `import getpass, os, sys
open('written', 'w').close()
print(getpass.getuser(), os.getuid(), os.getcwd(), sorted(os.listdir()), sys.argv[1:])
`;

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
}

async function build(args: readonly string[], environment: Readonly<Record<string, string>>) {
  const options = { env: { ...process.env, NO_COLOR: '1', ...environment } };
  return promisify(execFile)(process.execPath, [MAIN, 'images', 'build', ...args], options).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code: Number(code), stdout: String(stdout), stderr: String(stderr) }),
  );
}

describe.skipIf(engine === null)('an image that is built with the engine of this machine', () => {
  if (engine === null) {
    // The body of a suite runs even if its tests are left out.
    return;
  }
  const { run, environment, kind } = engine;
  let base: string;
  beforeAll(async () => {
    base = await buildBase(run, await buildTestImage(engine, 'python'));
  }, BUILD_MS_MAX);

  /** RUN needs a shell; the tests' image of Python has none. */
  async function buildBase(runEngine: EngineUnderTest['run'], image: string): Promise<string> {
    const busybox = (await promisify(execFile)('sh', ['-c', 'command -v busybox'])).stdout.trim();
    await write(
      'base/Dockerfile',
      `FROM ${image}\nCOPY busybox /bin/\nRUN ["/bin/busybox", "--install", "-s", "/bin"]\n`,
    );
    await copyFile(busybox, join(folder, 'base', 'busybox'));
    await runEngine(['build', '--network=host', '--tag', 'dropforge-test/base:1', join(folder, 'base')]);
    return 'dropforge-test/base:1';
  }

  const flags = () => [`--base-image=${base}`, `--engine=${kind}`];
  const NETWORK = ['--', '--network=host'];

  it(
    'runs the module with its arguments, without rights, where it may write, and without secrets',
    async () => {
      const tag = 'dropforge-test/digits:1';
      const built = await build([program, ...flags(), `--tag=${tag}`, ...NETWORK], environment);
      expect([built.code, built.stdout]).toEqual([0, expect.stringContaining(`Built ${tag} with ${kind}`)]);
      expect(built.stdout).toContain('build with --push');
      const printed = await run(['run', '--rm', '--network=host', tag, '--epochs=2']);
      expect(printed).toBe("trainer 1000 /app ['trainer', 'written'] ['--epochs=2']");
    },
    BUILD_MS_MAX,
  );

  it(
    'that does not build fails with the last lines of the output',
    async () => {
      await write('broken/Dockerfile', `FROM ${base}\nRUN echo the reason && false\n`);
      const built = await build(
        [join(folder, 'broken'), '--tag=dropforge-test/broken', `--engine=${kind}`, '--format=json', ...NETWORK],
        environment,
      );
      expect([built.code, built.stdout]).toEqual([1, '']);
      expect(built.stderr).toMatch(
        /The image dropforge-test\/broken was not built:\n[\s\S]*the reason[\s\S]*Correct what the lines/,
      );
    },
    BUILD_MS_MAX,
  );

  describe.skipIf(!canPush)('and pushed', () => {
    let registry: RegistryUnderTest;
    beforeAll(async () => {
      registry = await startRegistryUnderTest();
    });
    afterAll(() => registry.stop());

    it(
      'has the digest that the registry knows it by, in the line for the job file',
      async () => {
        const name = `${registry.host}/team/digits`;
        const built = await build(
          [program, ...flags(), `--tag=${name}:1`, '--push', '--format=json', ...NETWORK],
          environment,
        );
        expect([built.code, built.stderr]).toEqual([0, '']);
        const accept =
          'application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.manifest.v1+json';
        const answer = await fetch(`http://${registry.host}/v2/team/digits/manifests/1`, { headers: { accept } });
        const digest = answer.headers.get('docker-content-digest');
        expect(JSON.parse(built.stdout)).toMatchObject({
          ...{ digest, image: `${name}@${digest}`, jobFileLine: `image: ${name}@${digest}` },
          ...{ isPushed: true, isGenerated: true, engine: kind },
        });
      },
      BUILD_MS_MAX,
    );

    it(
      'to a registry that rejects the login is not pushed, and the error says how to log in',
      async () => {
        const locked = await startRegistryUnderTest({ user: 'ada', password: 'secret' });
        const args = [program, ...flags(), `--tag=${locked.host}/team/digits:1`, '--push', ...NETWORK];
        const built = await build(args, environment);
        await locked.stop();
        expect(built.code).toBe(1);
        expect(built.stderr).toContain(`docker login ${locked.host}`);
      },
      BUILD_MS_MAX,
    );
  });
});

/** Answers as gcloud does, and records how it was called and what it was given. */
const GCLOUD = `#!/bin/sh
echo "$@" >> "$RECORD/calls"
case "$2" in
  submit)
    case "$*" in *denied*) echo 'ERROR: (gcloud.builds.submit) PERMISSION_DENIED: forbidden' >&2; exit 1;; esac
    cp -r "$3" "$RECORD/source"; echo build-7;;
  log) echo 'Step 1/9 : FROM python';;
  describe)
    if [ -f "$RECORD/fails" ]; then echo '{"status": "FAILURE", "logUrl": "https://console/build-7"}'
    elif [ -f "$RECORD/described" ]; then echo '{"status": "SUCCESS", "results": {"images": [{"name": "us-east1-docker.pkg.dev/acme/trainers/digits:1", "digest": "sha256:${'a'.repeat(64)}"}]}}'
    else touch "$RECORD/described"; echo '{"status": "WORKING"}'; fi;;
esac
`;

describe('an image that is built with Cloud Build', () => {
  const TAG = 'us-east1-docker.pkg.dev/acme/trainers/digits:1';
  let record: string;
  let environment: Readonly<Record<string, string>>;
  beforeAll(async () => {
    await write('bin/gcloud', GCLOUD);
    await chmod(join(folder, 'bin', 'gcloud'), 0o755);
    await write(
      'deployment.json',
      JSON.stringify({ projectId: 'acme', api: 'https://api', uploadBucket: 'u', jobsBucket: 'j' }),
    );
  });

  async function prepare(name: string): Promise<void> {
    record = join(folder, name);
    await mkdir(record);
    environment = { RECORD: record, PATH: `${join(folder, 'bin')}:${process.env.PATH}` };
  }

  it(
    'is built from the same files, in the project of the deployment and the region of the repository',
    async () => {
      await prepare('succeeds');
      const args = [program, `--tag=${TAG}`, '--deployment', join(folder, 'deployment.json'), '--format=json'];
      const built = await build([...args, '--', '--build-arg', 'X=$Y'], environment);
      expect([built.code, built.stderr]).toEqual([0, '']);
      const digest = `sha256:${'a'.repeat(64)}`;
      expect(JSON.parse(built.stdout)).toMatchObject({
        engine: 'cloud-build',
        image: `us-east1-docker.pkg.dev/acme/trainers/digits@${digest}`,
      });
      const calls = (await readFile(join(record, 'calls'), 'utf8')).trim().split('\n');
      expect(calls.map((call) => call.split(' ')[1])).toEqual(['submit', 'log', 'describe', 'describe']);
      expect(calls.every((call) => call.includes('--project acme --region us-east1'))).toBe(true);
      const config = JSON.parse(await readFile(join(record, 'source', 'cloudbuild.json'), 'utf8'));
      expect(config).toMatchObject({
        images: [TAG],
        // Google's builder has Docker 20.10, whose default is the classic builder: RUN --mount would fail.
        steps: [{ args: expect.arrayContaining(['--platform', 'linux/amd64', 'X=$$Y']), env: ['DOCKER_BUILDKIT=1'] }],
      });
      expect(config).not.toHaveProperty('serviceAccount');
      expect(await readFile(join(record, 'source', 'context', 'trainer', 'task.py'), 'utf8')).toBe(PROGRAM);
      expect(await readFile(join(record, 'source', 'Dockerfile'), 'utf8')).toContain('ENTRYPOINT');
    },
    BUILD_MS_MAX,
  );

  it('that fails ends with the log, and where to read all of it', async () => {
    await prepare('fails');
    await writeFile(join(record, 'fails'), '');
    const built = await build(
      [program, `--tag=${TAG}`, '--engine=cloud-build', '--project=acme', '--format=json'],
      environment,
    );
    expect([built.code, built.stdout]).toEqual([1, '']);
    expect(built.stderr).toMatch(/Cloud Build ended with FAILURE[\s\S]*Step 1\/9[\s\S]*https:\/\/console\/build-7/);
  });

  it('that Cloud Build does not accept ends with its reason and a remedy', async () => {
    await prepare('is-denied');
    const built = await build([program, `--tag=${TAG}`, '--engine=cloud-build', '--project=denied'], environment);
    expect([built.code, built.stderr]).toEqual([
      1,
      expect.stringMatching(/PERMISSION_DENIED[\s\S]*roles\/cloudbuild\.builds\.editor/),
    ]);
  });

  it('can run as an account that is named, whose logs are in Cloud Logging', async () => {
    await prepare('has-account');
    const cloud = [`--tag=${TAG}`, '--engine=cloud-build', '--project=acme'];
    const built = await build(
      [program, ...cloud, '--service-account=builder@tools.iam.gserviceaccount.com'],
      environment,
    );
    expect(built.code).toBe(0);
    // With an account of its own, a build must say where its logs are (Cloud Build docs, "User-specified accounts").
    expect(JSON.parse(await readFile(join(record, 'source', 'cloudbuild.json'), 'utf8'))).toMatchObject({
      serviceAccount: 'projects/tools/serviceAccounts/builder@tools.iam.gserviceaccount.com',
      options: { logging: 'CLOUD_LOGGING_ONLY' },
    });
    expect((await build([program, ...cloud, '--service-account=builder'], environment)).stderr).toContain(
      '--service-account builder is not the e-mail address of a service account',
    );
  });
});
