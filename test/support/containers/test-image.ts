import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { EngineUnderTest } from './engine-under-test.ts';

const run = promisify(execFile);

export type ImageOptions = {
  /** Lines of a Dockerfile: CMD, ENTRYPOINT, ENV, USER, WORKDIR. */
  readonly changes?: readonly string[];
  /** Contents by absolute path, mode 755. */
  readonly files?: Readonly<Record<string, string>>;
  /** Targets of symbolic links by absolute path; they replace files. */
  readonly links?: Readonly<Record<string, string>>;
  /** Fields of its configuration, for what engines do not write; set when it is pushed. */
  readonly config?: object;
};

/** Busybox without a shell has no `sh`; Python has `python3` with its standard library, and neither shell nor pip. */
export type ImageBase = 'shell' | 'no-shell' | 'python';

/** Builds an image from programs of this machine, without a network; returns its id. */
export async function buildTestImage(
  engine: EngineUnderTest,
  base: ImageBase,
  { changes = [], files = {}, links = {} }: ImageOptions = {},
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dropforge-image-'));
  try {
    await writeFiles(folder, { ...WRITTEN, ...files });
    await mkdir(join(folder, 'tmp'), { mode: 0o1777 });
    await (base === 'python' ? addPython(folder) : addBusybox(folder, base));
    for (const [path, target] of Object.entries(links)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await rm(join(folder, path), { recursive: true, force: true });
      await symlink(target, join(folder, path));
    }
    const tar = spawn('tar', ['-C', folder, '--owner=0', '--group=0', '-c', '.'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = ['ENV PATH=/usr/local/bin:/usr/bin:/bin', ...changes];
    const imported = await engine.run(['import', ...lines.flatMap((line) => ['--change', line]), '-'], tar.stdout);
    return imported.split('\n').at(-1) ?? '';
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const NOT_COPIED = ['dist-packages', 'site-packages', 'test', 'idlelib', 'ensurepip', 'lib2to3', 'config-*'];

const COPY = 'from="$1" to="$2"; shift 2; tar -C "$from" "$@" -c . | tar -C "$to" -x';

const WRITTEN = {
  '/etc/passwd': 'root:x:0:0:root:/root:/bin/sh\ntrainer:x:1000:1000::/home/trainer:/bin/sh\n',
  '/etc/group': 'root:x:0:\ntrainer:x:1000:\n',
};

async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content, { mode: 0o755 });
  }
}

async function addBusybox(folder: string, base: ImageBase): Promise<void> {
  const busybox = (await run('sh', ['-c', 'command -v busybox'])).stdout.trim();
  await mkdir(join(folder, 'bin'));
  await run('cp', ['-L', busybox, join(folder, 'bin/busybox')]);
  const { stdout } = await run(busybox, ['--list']);
  const applets = stdout.split('\n').filter((name) => name !== '' && name !== 'busybox');
  for (const name of applets.filter((applet) => base === 'shell' || !/^(sh|ash|hush)$/.test(applet))) {
    await run('ln', ['-s', 'busybox', join(folder, 'bin', name)]);
  }
}

/**
 * Copies the system's Python, its standard library and every shared library that they load. With the compiled modules:
 * what is compiled at its import leaves a heap on which all that follows is up to 5 % slower.
 */
async function addPython(folder: string): Promise<void> {
  const describe =
    'import os, sys, sysconfig; print(os.path.realpath(sys.executable)); print(sysconfig.get_path("stdlib"))';
  const { stdout } = await run('/usr/bin/python3', ['-c', describe]);
  const [python = '', library = ''] = stdout.split('\n');
  await mkdir(join(folder, 'usr/bin'), { recursive: true });
  await run('cp', [python, join(folder, 'usr/bin/python3')]);
  await mkdir(join(folder, library), { recursive: true });
  const excluded = NOT_COPIED.map((name) => `--exclude=${name}`);
  await run('sh', ['-c', COPY, 'copy', library, join(folder, library), ...excluded]);
  const modules = (await run('find', [join(folder, library), '-name', '*.so'])).stdout.split('\n').filter(Boolean);
  for (const path of await listLibraries([python, ...modules])) {
    await mkdir(join(folder, dirname(path)), { recursive: true });
    await run('cp', ['-L', path, join(folder, path)]);
  }
}

async function listLibraries(binaries: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await run('ldd', [...binaries]).catch((error: { readonly stdout?: string }) => ({
    stdout: error.stdout ?? '',
  }));
  const paths = [...stdout.matchAll(/(?:=> )?(\/[^\s:]+) \(0x/g)].map((match) => match[1] ?? '');
  return [...new Set(paths)];
}
