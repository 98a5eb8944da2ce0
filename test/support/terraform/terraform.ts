import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { type FunctionName, HTTP_FUNCTIONS, SUBSCRIPTIONS } from '#functions/index.ts';
import { startGoogleProvider } from './google-provider.ts';
import { readGoogleSchema } from './provider-schema.ts';

const SOURCE = fileURLToPath(new URL('../../../terraform', import.meta.url));

/** The names of all functions, as they are built and deployed. */
export const FUNCTION_NAMES = ([...Object.keys(SUBSCRIPTIONS), ...HTTP_FUNCTIONS] as FunctionName[]).sort();

/** Whether this machine has a terraform that these files can be checked with. */
export function hasTerraform(): boolean {
  return spawnSync('terraform', ['version'], { stdio: 'ignore' }).status === 0;
}

export type TerraformRun = { readonly status: number | null; readonly output: string };

export type TerraformCopy = {
  /** Runs `terraform ARGS` in a directory of terraform/, `.` for the root module. */
  run(directory: string, args: readonly string[]): Promise<TerraformRun>;
  /** The same, and fails with what it printed unless it succeeded; answers with standard output. */
  must(directory: string, args: readonly string[]): Promise<string>;
  /** A configuration more: its main.tf, and the versions of the root module. */
  add(directory: string, main: string): void;
  close(): Promise<void>;
};

/**
 * A copy of terraform/ beside archives that stand for built functions, and a Google provider that only knows its
 * schema: nothing is downloaded, nothing is left in the repository.
 */
export async function copyTerraform(): Promise<TerraformCopy> {
  const directory = mkdtempSync(join(tmpdir(), 'dropforge-terraform-'));
  const root = join(directory, 'terraform');
  const isSource = (path: string) => !/\.terraform($|\/|\.lock)|\.tfstate/.test(path);
  cpSync(SOURCE, root, { recursive: true, filter: isSource });
  for (const name of FUNCTION_NAMES) {
    const archive = join(directory, 'dist', 'functions', `${name}.zip`);
    mkdirSync(dirname(archive), { recursive: true });
    writeFileSync(archive, name);
  }
  const provider = await startGoogleProvider(readGoogleSchema());
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

  return {
    run,
    async must(at, args) {
      const { status, stdout, output } = await run(at, args);
      if (status !== 0) {
        throw new Error(`terraform ${args.join(' ')} in terraform/${at} ended with ${status}:\n${output}`);
      }
      return stdout;
    },
    add(at, main) {
      mkdirSync(join(root, at));
      writeFileSync(join(root, at, 'main.tf'), main);
      cpSync(join(root, 'versions.tf'), join(root, at, 'versions.tf'));
    },
    async close() {
      await provider.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
