import { chmod, mkdir, mkdtemp, realpath, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { collectContext } from '#cli/images/build-context.ts';
import { explainFailure } from '#cli/images/explain-failure.ts';
import { runCli } from '../../support/cli/test-cloud.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'dropforge-program-'));
});
afterEach(() => rm(directory, { recursive: true }));

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
}

const build = (...flags: readonly string[]) => runCli(['images', 'build', directory, ...flags]);

async function dockerfileOf(files: Readonly<Record<string, string>>, ...flags: readonly string[]): Promise<string> {
  await write(files);
  const { code, stdout, stderr } = await build('--print', ...flags);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

const pathsOf = async () =>
  (await collectContext(directory, { dockerfile: null, secretFile: null })).files.map(({ path }) => path);
const PACKAGE = { 'trainer/__init__.py': '', 'trainer/task.py': 'print("hello")\n' };
const PROJECT = '[build-system]\nrequires = ["setuptools"]\n[project]\nname = "digits"\ndependencies = ["rich"]\n';
const PRIVATE_KEY = `-----BEGIN PRIVATE KEY-----\n${'A'.repeat(64)}\n-----END PRIVATE KEY-----\n`;

describe('a generated Dockerfile', () => {
  it('installs the requirements before it copies the sources, and runs the module as a user without rights', async () => {
    const text = await dockerfileOf(
      { ...PACKAGE, 'requirements.txt': 'tqdm\n-r more/extra.txt\n', 'more/extra.txt': 'rich\n' },
      '--runtime=pytorch-2.9',
    );
    const lines = text.split('\n');
    const at = (line: string) => lines.indexOf(line);
    expect(at('FROM docker.io/library/python:3.12-bookworm')).toBeGreaterThan(-1);
    expect(text).toContain('--extra-index-url https://download.pytorch.org/whl/cu126');
    expect(text).toContain(" 'torch==2.9.1+cu126' ");
    expect(at('COPY more/extra.txt ./more/')).toBeGreaterThan(-1);
    expect(at('COPY requirements.txt ./')).toBeLessThan(at('RUN python3 -m pip install -r requirements.txt'));
    expect(at('RUN python3 -m pip install -r requirements.txt')).toBeLessThan(at('COPY --chown=1000:1000 . .'));
    expect(lines.slice(-4)).toEqual(['', 'USER 1000:1000', 'ENTRYPOINT ["python3","-m","trainer.task"]', '']);
  });

  it('installs a project, its stated requirements first', async () => {
    const project =
      '[build-system]\nrequires = ["setuptools"]\n[project]\nname = "digits"\ndependencies = ["rich>=13; python_version<\'4\'"]\n';
    const text = await dockerfileOf({ ...PACKAGE, 'pyproject.toml': project });
    const requirement = `    'rich>=13; python_version<'"'"'4'"'"''`;
    expect(text).toContain(requirement);
    expect(text.indexOf(requirement)).toBeLessThan(text.indexOf('COPY --chown'));
    expect(text.indexOf('COPY --chown')).toBeLessThan(text.indexOf('RUN python3 -m pip install .\n'));
  });

  it('copies the sources first if a requirement is a path', async () => {
    const text = await dockerfileOf({ ...PACKAGE, 'requirements.txt': './lib\n', 'lib/setup.py': '' });
    expect(text.indexOf('COPY --chown')).toBeLessThan(text.indexOf('pip install -r requirements.txt'));
  });

  it('imports modules of src, and runs scripts by their path', async () => {
    const text = await dockerfileOf({ 'src/train.py': '' }, '--module=src/train.py');
    expect(text).toContain('ENV PYTHONPATH=/app:/app/src\n');
    expect(text).toContain('ENTRYPOINT ["python3","src/train.py"]');
  });

  it('takes module and runtime from the job file', async () => {
    const job = 'module: train\nruntime: "2.15"\nmachine: n1-standard-4\n';
    const text = await dockerfileOf({ 'train.py': '', 'other.py': '', 'job.yaml': job });
    expect(text).toContain('ENTRYPOINT ["python3","-m","train"]');
    expect(text).toContain('FROM docker.io/library/python:3.10-bookworm');
  });

  it('runs the only command that a project installs, whose module may do nothing by itself', async () => {
    const files = {
      'digits/__init__.py': '',
      'digits/cli.py': 'def main(): pass\n',
      'pyproject.toml': `${PROJECT}[project.scripts]\ntrain-digits = "digits.cli:main"\n`,
    };
    expect(await dockerfileOf(files)).toContain('ENTRYPOINT ["train-digits"]\n');
    expect(await dockerfileOf(files, '--module=digits.cli')).toContain('ENTRYPOINT ["python3","-m","digits.cli"]\n');
  });

  it('starts from another image, without the packages of a runtime', async () => {
    const text = await dockerfileOf(PACKAGE, '--base-image=us-docker.pkg.dev/acme/base/cuda:12');
    expect(text).toContain('FROM us-docker.pkg.dev/acme/base/cuda:12\n');
    expect(text).not.toContain('pip install');
  });

  it('installs beside the packages of Debian and Ubuntu, as root even if the base image has a USER', async () => {
    const text = await dockerfileOf({ ...PACKAGE, 'requirements.txt': 'rich\n' }, '--base-image=jupyter/base');
    expect(text.indexOf('USER root\n')).toBeLessThan(text.indexOf('RUN mkdir'));
    expect(text).toContain('PIP_BREAK_SYSTEM_PACKAGES=1');
  });

  it('installs everything with the configuration of pip as a secret, which is not among the files of the build', async () => {
    await write({ 'pip.conf': '[global]\nindex-url = https://ci:swordfish@pypi.example/simple\n' });
    const text = await dockerfileOf(
      { ...PACKAGE, 'pyproject.toml': PROJECT, 'requirements.txt': 'tqdm\n' },
      `--pip-conf=${join(directory, 'pip.conf')}`,
    );
    const secret =
      'RUN --mount=type=secret,id=dropforge-pip-conf,required=true PIP_CONFIG_FILE=/run/secrets/dropforge-pip-conf ';
    expect(text.split('pip install').length - 1).toBe(text.split(secret).length - 1);
    expect(text).not.toContain('swordfish');
    const pip = { dockerfile: null, secretFile: join(await realpath(directory), 'pip.conf') };
    expect((await collectContext(directory, pip)).files.map(({ path }) => path)).not.toContain('pip.conf');
  });

  it.each([
    ['requirements.txt', '--index-url https://ci:swordfish@pypi.example/simple\nrich\n'],
    ['more/extra-requirements.in', '--extra-index-url=https://ci:swordfish@pypi.example/simple\n'],
  ])('is not written for a password in %s, which would be in the image', async (path, text) => {
    await write({ ...PACKAGE, [path]: text });
    const { code, stderr } = await build('--print');
    expect([code, stderr]).toEqual([1, expect.stringMatching(/\(a password\): .*--pip-conf/)]);
    expect(stderr).not.toContain('swordfish');
  });

  it('is the same text for the same program', async () => {
    const files = { ...PACKAGE, 'requirements.txt': 'tqdm\n' };
    expect(await dockerfileOf(files)).toBe(await dockerfileOf(files));
  });

  it('says which runtime replaces an old one', async () => {
    await write(PACKAGE);
    const { code, stderr, stdout } = await build('--print', '--runtime=1.15', '--format=json');
    expect([code, stderr]).toEqual([0, expect.stringContaining('Runtime 1.15 is replaced by 2.15')]);
    expect(JSON.parse(stdout)).toMatchObject({ isGenerated: true, dockerfile: expect.stringContaining('FROM ') });
  });
});

describe('what a build gets', () => {
  it('has neither hidden files, caches, virtual environments nor outputs', async () => {
    await write({
      ...PACKAGE,
      '.git/config': '',
      '.env': 'X=1',
      'trainer/__pycache__/task.cpython-312.pyc': '',
      'env/pyvenv.cfg': '',
      'env/lib/site.py': '',
      'outputs/model.pt': '',
      'trainer/outputs/keep.py': '',
    });
    expect(await pathsOf()).toEqual(['trainer/__init__.py', 'trainer/outputs/keep.py', 'trainer/task.py']);
  });

  it('leaves out what .dockerignore excludes, and links and files that contain credentials', async () => {
    await write({ ...PACKAGE, '.dockerignore': 'data\n!data/labels.txt\n', 'data/a.csv': '', 'data/labels.txt': '' });
    await write({ 'key.json': `{"type": "service_account", "private_key": ${JSON.stringify(PRIVATE_KEY)}}` });
    await symlink('/etc/hosts', join(directory, 'hosts'));
    await symlink('task.py', join(directory, 'trainer', 'main.py'));
    expect(await pathsOf()).toEqual(['data/labels.txt', 'trainer/__init__.py', 'trainer/main.py', 'trainer/task.py']);
    const { stderr } = await build('--print', '--module=trainer.task');
    expect(stderr).toContain('hosts (a link to a file outside of the folder)');
    expect(stderr).toContain('key.json (the private key of a Google service account)');
    expect(stderr).not.toContain('AAAA');
  });

  it('is limited, and the error names the largest files', async () => {
    await write({ ...PACKAGE, 'train.bin': '', 'test.bin': '' });
    await truncate(join(directory, 'train.bin'), 2 * 2 ** 30);
    await truncate(join(directory, 'test.bin'), 2 ** 20);
    const { code, stderr } = await build('--print');
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/2\.0 GiB to send.*limit is 2\.0 GiB.*train\.bin \(2\.0 GiB\), test\.bin/),
    ]);
  });
});

describe('a folder with a Dockerfile', () => {
  it('is built with it', async () => {
    expect(await dockerfileOf({ Dockerfile: 'FROM scratch\n' })).toBe('FROM scratch\n');
  });

  it('is rejected if it contains a credential that is not ignored', async () => {
    await write({ Containerfile: 'FROM scratch\nCOPY . /\n', 'server.pem': PRIVATE_KEY });
    const { code, stderr } = await build('--print');
    expect([code, stderr]).toEqual([1, expect.stringContaining('server.pem (a private key)')]);
    expect(stderr).toContain('.dockerignore');
    await write({ '.dockerignore': '*.pem\n' });
    expect((await build('--print')).code).toBe(0);
  });
});

describe('images build', () => {
  it.each([
    [['--tag=a:1', '--module=absent.task'], 1, /has no module absent\.task\. .*--module/],
    [['--tag=UPPER:1'], 2, /"UPPER:1"\. Names of repositories are lowercase: write upper:1\.$/m],
    [['--tag=localhost:5000/Team/a:V1'], 2, /write localhost:5000\/team\/a:V1\.$/m],
    [['--tag=a:b c'], 2, /A tag has 1 to 128 letters/],
    [['--tag=a:1', '--pip-conf=absent.conf'], 2, /--pip-conf .*absent\.conf cannot be read/],
    [['--tag=a/b:1', '--engine=cloud-build', '--pip-conf=a'], 2, /gcloud secrets create .*--pip-secret pip-conf/],
    [['--tag=a/b:1', '--pip-secret=a'], 2, /--pip-secret is for Cloud Build/],
    [['--tag=https://a/b'], 2, /Remove the scheme/],
    [[], 2, /--tag is missing/],
    [[`--tag=a@sha256:${'0'.repeat(64)}`], 2, /contains a digest/],
    [['--tag=digits:1', '--push'], 2, /names no registry/],
    [['--tag=digits:1', '--engine=cloud-build'], 2, /names no registry/],
    [['--tag=us-docker.pkg.dev/p/r/digits', '--engine=cloud-build'], 2, /requires --deployment FILE or --project/],
    [['--print', '--runtime=pytorch-9'], 2, /not a known runtime/],
    [['--print', '--runtime=2.20', '--base-image=a'], 2, /mutually exclusive/],
    [['--engine=kaniko'], 2, /Allowed choices are docker, podman, cloud-build/],
  ])('rejects %j', async (flags, code, message) => {
    await write(PACKAGE);
    const result = await build(...flags);
    expect([result.code, result.stderr]).toEqual([code, expect.stringMatching(message)]);
  });

  it('rejects a folder that does not exist, a file, and a folder without a program', async () => {
    await write({ 'notes.txt': '' });
    const stderrOf = async (path: string) => (await runCli(['images', 'build', path, '--print'])).stderr;
    expect(await stderrOf(join(directory, 'absent'))).toContain('does not exist');
    expect(await stderrOf(join(directory, 'notes.txt'))).toContain('is not a folder');
    expect(await stderrOf(directory)).toContain('neither a Dockerfile nor Python code');
  });

  it('says how a user who may not use Docker gets to', async () => {
    await write({
      ...PACKAGE,
      'bin/docker':
        '#!/bin/sh\necho >&2 "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock"\nexit 1\n',
    });
    await chmod(join(directory, 'bin', 'docker'), 0o755);
    const previous = process.env['PATH'];
    process.env['PATH'] = `${join(directory, 'bin')}:${previous}`;
    try {
      const { code, stderr } = await build('--tag=a:1', '--module=trainer.task', '--engine=docker');
      expect([code, stderr]).toEqual([1, expect.stringMatching(/may not use Docker .*usermod -aG docker/)]);
    } finally {
      process.env['PATH'] = previous;
    }
  });

  it('asks for a module if there are several', async () => {
    await write({ 'a.py': '', 'b.py': '' });
    expect((await build('--print')).stderr).toContain(
      'several modules that can be run (a, b). Choose one with --module.',
    );
  });

  it.each([
    [
      'denied: Permission "artifactregistry.repositories.uploadArtifacts" denied',
      /configure-docker us-docker\.pkg\.dev/,
    ],
    ['ERROR: No matching distribution found for tensorflow==1.15', /another --runtime/],
    ['exec /bin/sh: exec format error', /linux\/amd64/],
    ['name unknown: Repository "trainers" not found', /artifacts repositories create/],
    ['toomanyrequests: You have reached your pull rate limit', /Docker Hub limits/],
    ['write /var/lib/docker: no space left on device', /disk is full/],
    ['E: something else', /Correct what the lines above say/],
    ['ERROR: BuildKit is enabled but the buildx component is missing or broken.', /docker-buildx/],
    ['Get "https://localhost:5000/v2/": http: server gave HTTP response to HTTPS client', /insecure-registries/],
  ])('explains %j', (line, remedy) => {
    const { message } = explainFailure('The image was not built', ['first', line, ''], { host: 'us-docker.pkg.dev' });
    expect(message).toContain(`  ${line}\n`);
    expect(message).toMatch(remedy);
  });
});
