import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
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

function run(script: string, words: readonly string[], { env = {} }: Options = {}) {
  const { PATH = '' } = process.env;
  const { status, stdout, stderr } = spawnSync('/bin/bash', [join(FOLDER, script), ...words], {
    encoding: 'utf8',
    env: { PATH, ...env },
  });
  return { status, stdout, stderr, sentences: stdout.split('\n').filter((line) => line !== '') };
}

const check = (...words: readonly string[]) => run('check-image.sh', words);

function plant(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

/** A folder of programs as the only PATH, so that what is missing is known. */
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

/** Everything that an image may not hold, where it usually lies. */
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

describe('check-image.sh on this machine', () => {
  it('says in one sentence each what is missing, and counts it', () => {
    const { status, sentences } = check('--no-gpu', '--machine-only');
    const [verdict, ...missing] = sentences.toReversed();
    expect(verdict).toBe(
      missing.length === 0 ? 'DROPFORGE-CHECK passed' : `DROPFORGE-CHECK failed: ${missing.length} found.`,
    );
    expect(status).toBe(missing.length === 0 ? 0 : 1);
    expect(missing.filter((sentence) => !/^[^\n]{10,200}\.$/.test(sentence))).toEqual([]);
    expect(missing.join()).not.toContain('nvidia');
    expect(missing.join()).not.toContain('Python does not run');
  });

  it('asks for a GPU unless it is told that there is none', () => {
    const env = { PATH: pathOf('bash') };
    expect(run('check-image.sh', ['--machine-only'], { env }).stdout).toContain('nvidia-smi is missing');
    expect(run('check-image.sh', ['--machine-only', '--no-gpu'], { env }).stdout).not.toContain('nvidia');
  });

  it('names every program that is not there', () => {
    const { status, stdout } = run('check-image.sh', ['--machine-only', '--no-gpu'], { env: { PATH: pathOf('bash') } });
    expect(status).toBe(1);
    expect(['poweroff', 'curl', 'tar', 'python3'].filter((name) => !stdout.includes(`${name} is missing`))).toEqual([]);
  });

  it('names what a runtime has and this machine has not', () => {
    const runtime = { name: 'x', pythonVersion: '3.1', packages: ['no-such-thing==1.0'], imports: ['no_such_thing'] };
    plant('runtime.json', JSON.stringify(runtime));
    const { stdout } = check('--machine-only', '--no-gpu', '--runtime', join(root, 'runtime.json'));
    expect(stdout).toMatch(/^Python is 3\.\d+, and runtime x has 3\.1\.$/m);
    expect(stdout).toContain('The package no-such-thing is missing: 1.0 is wanted.');
    expect(stdout).toContain('The module no_such_thing cannot be imported');
  });

  it.each(['', '{', '[]'])('says so when the runtime is %j', (text) => {
    plant('runtime.json', text);
    const { status, stdout } = check('--machine-only', '--no-gpu', '--runtime', join(root, 'runtime.json'));
    expect(status).toBe(1);
    expect(stdout).toContain('The runtime could not be looked at');
  });

  it('refuses options that it does not know', () => {
    expect(check('--gpu')).toMatchObject({ status: 2, stdout: '' });
  });
});

describe('what an image may not hold', () => {
  it('is nothing in an empty tree', () => {
    expect(check('--unbooted', '--root', root)).toMatchObject({ status: 0, stdout: 'DROPFORGE-CHECK passed\n' });
  });

  it.each(Object.entries(SECRETS))('is found: %s', (path, text) => {
    plant(path, text);
    const { status, sentences } = check('--unbooted', '--root', root);
    expect(status).toBe(1);
    expect(sentences).toHaveLength(2);
    expect(`/${path}`).toContain(sentences[0]?.split(' ')[0]);
    expect(sentences.join()).not.toContain('planted');
  });

  it('is a password in the address of a package index', () => {
    plant('etc/pip.conf', '[global]\nindex-url = https://me:planted@pypi.example.com/simple\n');
    expect(check('--root', root).sentences[0]).toBe('/etc/pip.conf holds a password in an address.');
    plant('etc/pip.conf', '[global]\nindex-url = https://pypi.example.com/simple\n');
    expect(check('--root', root).status).toBe(0);
  });

  it('is not what every VM has made for itself, once one has booted', () => {
    plant('etc/ssh/ssh_host_ed25519_key', KEY);
    plant('etc/machine-id', '0123456789abcdef');
    expect(check('--root', root).status).toBe(0);
  });
});

describe('provision.sh clean', () => {
  const clean = () => run('provision.sh', ['clean'], { env: { ROOT: root } });

  it('removes every secret that is planted, and nothing else', () => {
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

  it('removes all that the check looks for in homes', () => {
    const patterns = check('--list-secrets').sentences;
    expect(patterns.length).toBeGreaterThan(20);
    for (const pattern of patterns) {
      plant(join('home/me', pattern.replace('*', 'x')), 'planted');
    }
    expect(check('--root', root).sentences).toHaveLength(patterns.length + 1);
    clean();
    expect(check('--root', root).status).toBe(0);
  });

  it('may run again', () => {
    expect([clean().status, clean().status]).toEqual([0, 0]);
  });

  it('leaves alone what a link in a home points to', () => {
    plant('srv/keys/key', 'kept');
    mkdirSync(join(root, 'home/me'), { recursive: true });
    symlinkSync(join(root, 'srv/keys'), join(root, 'home/me/.aws'));
    clean();
    expect(existsSync(join(root, 'home/me/.aws'))).toBe(false);
    expect(readFileSync(join(root, 'srv/keys/key'), 'utf8')).toBe('kept');
  });

  it.each([[[]], [['instal']], [['install']], [['verify']]])('does nothing for the words %j', (words) => {
    expect(run('provision.sh', words, { env: { ROOT: root } })).toMatchObject({ status: 1, stdout: '' });
  });
});
