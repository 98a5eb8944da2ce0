import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { FUNCTION_NAMES } from '#functions/functions.ts';
import { type Rules, startGoogleProvider } from './google-provider.ts';
import { readGoogleSchema } from './provider-schema.ts';

const SOURCE = fileURLToPath(new URL('../../../terraform', import.meta.url));

/** Whether `terraform` is installed. */
export function hasTerraform(): boolean {
  return spawnSync('terraform', ['version'], { stdio: 'ignore' }).status === 0;
}

export type TerraformRun = { readonly status: number | null; readonly output: string };

export type TerraformCopy = {
  /** The parent of the copies of terraform/ and dist/. */
  readonly directory: string;
  /** Runs `terraform ARGS` in a directory below terraform/; `.` is the root module. */
  run(directory: string, args: readonly string[]): Promise<TerraformRun>;
  /** Like `run`, but returns standard output and throws with the output on a non-zero status. */
  must(directory: string, args: readonly string[]): Promise<string>;
  /** Initializes a directory, unless this copy has done it. */
  init(directory: string): Promise<string>;
  /** Adds a configuration: the given main.tf, and the versions.tf of the root module. */
  add(directory: string, main: string): void;
  /** Writes a file next to the root module. */
  write(name: string, text: string): void;
  close(): Promise<void>;
};

/**
 * Copies terraform/ to a temporary directory, next to placeholder archives of the functions, and starts a Google
 * provider that implements only the schema: nothing is downloaded, and nothing is written to the repository.
 */
export async function copyTerraform(schema = readGoogleSchema(), rules: Rules = {}): Promise<TerraformCopy> {
  const directory = mkdtempSync(join(tmpdir(), 'dropforge-terraform-'));
  const root = join(directory, 'terraform');
  const isSource = (path: string) => !/\.terraform($|\/)|\.tfstate/.test(path);
  cpSync(SOURCE, root, { recursive: true, filter: isSource });
  for (const name of FUNCTION_NAMES) {
    const archive = join(directory, 'dist', 'functions', `${name}.zip`);
    mkdirSync(dirname(archive), { recursive: true });
    writeFileSync(archive, name);
  }
  writeFileSync(join(directory, 'dist', 'functions', 'agent.pyz'), 'agent');
  const provider = await startGoogleProvider(schema, rules);
  const environment = {
    PATH: process.env.PATH,
    HOME: directory,
    TF_REATTACH_PROVIDERS: provider.reattach,
    CHECKPOINT_DISABLE: '1',
    TF_IN_AUTOMATION: '1',
  };

  async function run(at: string, [command = 'version', ...rest]: readonly string[]) {
    const child = spawn('terraform', [command, '-no-color', ...rest], {
      cwd: join(root, at),
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
    const [stdout, stderr, status] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    return { status, stdout, output: stdout + stderr };
  }

  async function must(at: string, args: readonly string[]) {
    const { status, stdout, output } = await run(at, args);
    if (status !== 0) {
      throw new Error(`terraform ${args.join(' ')} in terraform/${at} ended with ${status}:\n${output}`);
    }
    return stdout;
  }

  const initialized = new Map<string, Promise<string>>();
  return {
    directory,
    run,
    must,
    init(at) {
      const done = initialized.get(at) ?? must(at, ['init', '-backend=false']);
      initialized.set(at, done);
      return done;
    },
    add(at, main) {
      mkdirSync(join(root, at));
      writeFileSync(join(root, at, 'main.tf'), main);
      cpSync(join(root, 'versions.tf'), join(root, at, 'versions.tf'));
    },
    write: (name, text) => writeFileSync(join(root, name), text),
    async close() {
      await provider.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
