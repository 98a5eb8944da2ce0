import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { runCli } from '../cli/test-cloud.ts';

export type GcloudResult = { readonly code: number; readonly stdout: Buffer; readonly stderr: string };

export type GcloudUnderTest = {
  /** Runs to its end, whatever that is; the standard input is empty where none is given. */
  run(args: readonly string[], options?: GcloudOptions): Promise<GcloudResult>;
  /** The standard output as text; throws when gcloud does not end well. */
  read(...args: readonly string[]): Promise<string>;
  close(): Promise<void>;
};

export type GcloudOptions = { readonly stdin?: Uint8Array; readonly environment?: Readonly<Record<string, string>> };

/** The gcloud of this machine, with the variables that `dropforge env` prints for this cloud and nothing of the user's. */
export async function openGcloud({ dataDir }: { readonly dataDir: string }): Promise<GcloudUnderTest> {
  const directory = await mkdtemp(join(tmpdir(), 'dropforge-gcloud-'));
  const printed = (await runCli(['env', '--format=json'], { dataDir })).json()[0] as NodeJS.ProcessEnv;

  async function run(args: readonly string[], { stdin, environment }: GcloudOptions = {}): Promise<GcloudResult> {
    // Each process has its own: `gcloud storage rsync` keeps what it lists of a URL in a file of its
    // configuration and deletes it at its end, also while another process reads it.
    const configuration = await mkdtemp(join(directory, 'configuration-'));
    const settings = { CLOUDSDK_CONFIG: configuration, CLOUDSDK_CORE_DISABLE_PROMPTS: '1' };
    const child = spawn('gcloud', args, { env: { ...process.env, ...settings, ...printed, ...environment } });
    child.stdin.end(stdin);
    const ended = new Promise<number>((resolve, reject) => {
      child.on('error', reject).on('close', (code) => resolve(code ?? -1));
    });
    const [code, stdout, stderr] = await Promise.all([ended, buffer(child.stdout), text(child.stderr)]);
    return { code, stdout, stderr };
  }

  return {
    run,
    async read(...args) {
      const { code, stdout, stderr } = await run(args);
      if (code !== 0) {
        throw new Error(`gcloud ${args.join(' ')} ended with ${code}: ${stderr}`);
      }
      return stdout.toString();
    },
    close: () => rm(directory, { recursive: true }),
  };
}
