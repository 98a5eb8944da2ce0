import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const FOLDER = join(import.meta.dirname, '../../../infra/machine-image');

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'dropforge-image-'));
});
afterEach(() => rmSync(root, { recursive: true }));

type Options = { readonly env?: Readonly<Record<string, string>> };

function run(script: string, args: readonly string[], { env = {} }: Options = {}) {
  const { PATH = '' } = process.env;
  const { status, stdout, stderr } = spawnSync('/bin/bash', [join(FOLDER, script), ...args], {
    encoding: 'utf8',
    env: { PATH, ...env },
  });
  return { status, stdout, stderr, findings: stdout.split('\n').filter((line) => line !== '') };
}

const check = (...args: readonly string[]) => run('check-image.sh', args);

function plant(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

/** Creates a folder with only these programs, for use as PATH, so that all others are missing. */
function pathOf(...programs: readonly string[]): string {
  const folder = join(root, 'bin');
  mkdirSync(folder);
  for (const program of programs) {
    const found = spawnSync('which', [program], { encoding: 'utf8' }).stdout.trim();
    symlinkSync(found, join(folder, program));
  }
  return folder;
}

const KEY = ['-----BEGIN', 'PRIVATE KEY-----'].join(' ');

/** Forbidden files in their usual locations. */
const SECRETS: Readonly<Record<string, string>> = {
  'root/.ssh/authorized_keys': 'ssh-ed25519 AAAA me',
  'root/.bash_history': 'export TOKEN=planted',
  'home/me/.ssh/id_ed25519': KEY,
  'home/me/.config/gcloud/application_default_credentials.json': '{}',
  'home/me/.docker/config.json': '{}',
  'home/me/.netrc': 'machine example.com password planted',
  'home/me/.cache/huggingface/token': 'planted',
  'home/me/.python_history': 'planted',
  'var/lib/dropforge/state.json': '{}',
  'etc/ssh/ssh_host_ed25519_key': KEY,
  'etc/machine-id': '0123456789abcdef',
  'tmp/key.json': `{"private_key": "${KEY}"}`,
};

/** A Docker that answers as the variables say, and a driver that is there if `driver` is. */
const DOCKER = `#!/bin/bash
case "$*" in
  version*) [[ "$DAEMON" != down ]] && echo "\${VERSION:-28.5.2}" ;;
  info*Runtimes*) echo "\${RUNTIMES:-{\\"nvidia\\":{},\\"runc\\":{}}}" ;;
  info*CgroupDriver*) echo "\${CGROUPS:-cgroupfs}" ;;
  network*) echo "$NETWORKS" ;;
  info*) echo "$WARNING" >&2 ;;
  import*) cat >/dev/null; [[ "$STORAGE" != broken ]] ;;
  run*nvidia-smi*) [[ "$GPU" != hidden ]] ;;
  run*) [[ "$CONTAINERS" != broken ]] ;;
esac
`;

function checkDocker(env: Readonly<Record<string, string>>, ...args: readonly string[]): readonly string[] {
  plant('docker/docker', DOCKER);
  plant('docker/nvidia-smi', '#!/bin/bash\n');
  for (const name of ['docker', 'nvidia-smi']) {
    chmodSync(join(root, 'docker', name), 0o755);
  }
  const { PATH = '' } = process.env;
  const own = { PATH: `${join(root, 'docker')}:${PATH}`, ...env };
  const { findings } = run('check-image.sh', ['--machine-only', ...args], { env: own });
  return findings.filter((finding) => /docker|container|GPU/i.test(finding));
}

describe('check-image.sh on a machine with Docker', () => {
  it('has no finding if the daemon answers, a container runs and sees the GPU', () => {
    expect(checkDocker({})).toEqual([]);
  });

  it.each<[string, Readonly<Record<string, string>>, string]>([
    ['that does not answer', { DAEMON: 'down' }, 'docker is installed, but its daemon does not answer'],
    ['that is too old', { VERSION: '19.03.1' }, 'Docker is 19.03.1, but 20 or newer is required.'],
    ['that listens on TCP', { WARNING: 'WARNING: API is accessible on http://0.0.0.0:2375' }, 'The API of Docker is'],
    ['without the runtime nvidia', { RUNTIMES: '{"runc":{}}' }, 'Docker does not have the runtime nvidia'],
    ['with a bridge', { NETWORKS: 'bridge' }, 'Docker has its default bridge'],
    ['with cgroups of systemd', { CGROUPS: 'systemd' }, 'The cgroup driver of Docker is not cgroupfs'],
    ['whose storage is broken', { STORAGE: 'broken' }, 'Docker could not be given an image for the check'],
    ['that starts no container', { CONTAINERS: 'broken' }, 'A container could not be started'],
    ['whose containers see no GPU', { GPU: 'hidden' }, 'A container finds no GPU, although the machine does'],
  ])('reports one %s, and nothing else', (_, env, start) => {
    const findings = checkDocker(env);
    expect(findings[0]).toContain(start);
    expect(findings[0]).toMatch(/\.$/);
    expect(findings).toHaveLength(1);
  });

  it('looks for no GPU with --no-gpu, and for nothing with --no-containers', () => {
    expect(checkDocker({ GPU: 'hidden' }, '--no-gpu')).toEqual([]);
    expect(checkDocker({ DAEMON: 'down' }, '--no-containers')).toEqual([]);
  });

  it('says that Docker is missing, unless called with --no-containers', () => {
    const env = { PATH: pathOf('bash') };
    expect(run('check-image.sh', ['--machine-only', '--no-gpu'], { env }).stdout).toContain('docker is missing: jobs');
    const without = run('check-image.sh', ['--machine-only', '--no-gpu', '--no-containers'], { env });
    expect(without.stdout).not.toContain('docker');
  });
});

describe('the configuration of Docker', () => {
  const script = readFileSync(join(FOLDER, 'provision.sh'), 'utf8');

  it('has no bridge, keeps its API off the network, containers over a restart of the daemon, and GPUs over a daemon-reload', () => {
    const [, text = ''] = /daemon\.json" <<'JSON'\n([\s\S]+?)\nJSON\n/.exec(script) ?? [];
    expect(JSON.parse(text)).toEqual({
      // Its default, 172.17.0.0/16, would hide machines of a VPC with these addresses.
      bridge: 'none',
      'exec-opts': ['native.cgroupdriver=cgroupfs'],
      'live-restore': true,
      'log-driver': 'local',
      'log-opts': { 'max-size': '10m', 'max-file': '2' },
    });
  });

  it('pins an exact version of every package', () => {
    for (const name of ['DOCKER', 'CONTAINERD', 'NVIDIA_TOOLKIT']) {
      expect(script).toMatch(new RegExp(`^${name}_VERSION=\\d+\\.\\d+\\.\\d+$`, 'm'));
    }
    expect(script).toMatch(/"docker-ce=5:\$DOCKER_VERSION-1~ubuntu/);
    expect(script).toMatch(/\$name=\$NVIDIA_TOOLKIT_VERSION-1/);
  });
});

it('keeps GPUs initialized, which counts of memory errors and the first call of each program depend on', () => {
  const script = readFileSync(join(FOLDER, 'provision.sh'), 'utf8');
  const [, body = ''] = /^keep_gpus_initialized\(\) \{\n([\s\S]+?)\n\}\n/m.exec(script) ?? [];
  execFileSync('bash', ['-c', body.replace('local ', '')], { env: { ...process.env, ROOT: root } });
  const unit = readFileSync(join(root, 'etc/systemd/system/nvidia-persistenced.service.d/dropforge.conf'), 'utf8');
  // Ubuntu's own line has --no-persistence-mode.
  expect(unit.split('\n').slice(0, 2)).toEqual(['[Service]', 'ExecStart=']);
  expect(unit).toMatch(/^ExecStart=\S+ --user nvidia-persistenced --verbose$/m);
  expect(script).toMatch(/nvidia-utils-\$name"\n {2}keep_gpus_initialized\n/);
});

describe('check-image.sh on this machine', () => {
  it('prints one sentence per finding, and their number', () => {
    const { status, findings } = check('--no-gpu', '--no-containers', '--machine-only');
    const [verdict, ...missing] = findings.toReversed();
    expect(verdict).toBe(
      missing.length === 0 ? 'DROPFORGE-CHECK passed' : `DROPFORGE-CHECK failed: ${missing.length} found.`,
    );
    expect(status).toBe(missing.length === 0 ? 0 : 1);
    expect(missing.filter((finding) => !/^[^\n]{10,200}\.$/.test(finding))).toEqual([]);
    expect(missing.join()).not.toContain('nvidia');
    expect(missing.join()).not.toContain('Python does not run');
  });

  it('checks for a GPU unless called with --no-gpu', () => {
    const env = { PATH: pathOf('bash') };
    expect(run('check-image.sh', ['--machine-only'], { env }).stdout).toContain('nvidia-smi is missing');
    expect(run('check-image.sh', ['--machine-only', '--no-gpu'], { env }).stdout).not.toContain('nvidia');
  });

  it('reports every missing program', () => {
    const { status, stdout } = run('check-image.sh', ['--machine-only', '--no-gpu'], { env: { PATH: pathOf('bash') } });
    expect(status).toBe(1);
    expect(['poweroff', 'curl', 'tar', 'python3'].filter((name) => !stdout.includes(`${name} is missing`))).toEqual([]);
  });

  it('reports missing packages and modules of a runtime', () => {
    const runtime = { name: 'x', pythonVersion: '3.1', packages: ['no-such-thing==1.0'], imports: ['no_such_thing'] };
    plant('runtime.json', JSON.stringify(runtime));
    const { stdout } = check('--machine-only', '--no-gpu', '--runtime', join(root, 'runtime.json'));
    expect(stdout).toMatch(/^Python is 3\.\d+, but runtime x requires 3\.1\.$/m);
    expect(stdout).toContain('The package no-such-thing is missing: 1.0 is required.');
    expect(stdout).toContain('The module no_such_thing cannot be imported');
  });

  it.each(['', '{', '[]'])('reports the invalid runtime %j', (text) => {
    plant('runtime.json', text);
    const { status, stdout } = check('--machine-only', '--no-gpu', '--runtime', join(root, 'runtime.json'));
    expect(status).toBe(1);
    expect(stdout).toContain('The runtime could not be checked');
  });

  it('rejects unknown options', () => {
    expect(check('--gpu')).toMatchObject({ status: 2, stdout: '' });
  });
});

describe('the check for forbidden files', () => {
  it('passes on an empty tree', () => {
    expect(check('--unbooted', '--root', root)).toMatchObject({ status: 0, stdout: 'DROPFORGE-CHECK passed\n' });
  });

  it.each(Object.entries(SECRETS))('reports %s', (path, text) => {
    plant(path, text);
    const { status, findings } = check('--unbooted', '--root', root);
    expect(status).toBe(1);
    expect(findings).toHaveLength(2);
    expect(`/${path}`).toContain(findings[0]?.split(' ')[0]);
    expect(findings.join()).not.toContain('planted');
  });

  it('reports a password in the URL of a package index', () => {
    plant('etc/pip.conf', '[global]\nindex-url = https://me:planted@pypi.example.com/simple\n');
    expect(check('--root', root).findings[0]).toBe('/etc/pip.conf contains a password in a URL.');
    plant('etc/pip.conf', '[global]\nindex-url = https://pypi.example.com/simple\n');
    expect(check('--root', root).status).toBe(0);
  });

  it('accepts host keys and a machine id once a VM has booted', () => {
    plant('etc/ssh/ssh_host_ed25519_key', KEY);
    plant('etc/machine-id', '0123456789abcdef');
    expect(check('--root', root).status).toBe(0);
  });
});

describe('provision.sh clean', () => {
  const clean = () => run('provision.sh', ['clean'], { env: { ROOT: root } });

  it('removes every forbidden file, and no other', () => {
    for (const [path, text] of Object.entries(SECRETS)) {
      plant(path, text);
    }
    plant('home/me/.cache/pip/http/a', 'wheel');
    plant('var/log/auth.log', 'login of me');
    plant('home/me/.bashrc', 'umask 22');
    plant('opt/dropforge/runtime.json', '{}');
    plant('etc/hosts', '127.0.0.1 localhost');
    expect(check('--unbooted', '--root', root).status).toBe(1);

    expect(clean()).toMatchObject({ status: 0, stderr: '' });

    expect(check('--unbooted', '--root', root)).toMatchObject({ status: 0, stdout: 'DROPFORGE-CHECK passed\n' });
    const gone = Object.keys(SECRETS).filter((path) => path !== 'etc/machine-id' && existsSync(join(root, path)));
    expect([...gone, ...['home/me/.cache/pip'].filter((path) => existsSync(join(root, path)))]).toEqual([]);
    expect(['etc/machine-id', 'var/log/auth.log'].map((path) => readFileSync(join(root, path), 'utf8'))).toEqual([
      '',
      '',
    ]);
    const kept = ['home/me/.bashrc', 'opt/dropforge/runtime.json', 'etc/hosts'];
    expect(kept.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it('removes all files that the check finds in home directories', () => {
    const patterns = check('--list-secrets').findings;
    expect(patterns.length).toBeGreaterThan(20);
    for (const pattern of patterns) {
      plant(join('home/me', pattern.replace('*', 'x')), 'planted');
    }
    expect(check('--root', root).findings).toHaveLength(patterns.length + 1);
    clean();
    expect(check('--root', root).status).toBe(0);
  });

  it('is idempotent', () => {
    expect([clean().status, clean().status]).toEqual([0, 0]);
  });

  it('keeps the target of a link in a home directory', () => {
    plant('srv/keys/key', 'kept');
    mkdirSync(join(root, 'home/me'), { recursive: true });
    symlinkSync(join(root, 'srv/keys'), join(root, 'home/me/.aws'));
    clean();
    expect(existsSync(join(root, 'home/me/.aws'))).toBe(false);
    expect(readFileSync(join(root, 'srv/keys/key'), 'utf8')).toBe('kept');
  });

  it.each([[[]], [['instal']], [['install']], [['verify']]])('rejects the arguments %j', (args) => {
    expect(run('provision.sh', args, { env: { ROOT: root } })).toMatchObject({ status: 1, stdout: '' });
  });
});
