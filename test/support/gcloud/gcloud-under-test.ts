import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { runCli } from '../cli/test-cloud.ts';

export type GcloudResult = { readonly code: number; readonly stdout: Buffer; readonly stderr: string };

export type GcloudUnderTest = {
  /** Resolves with the result, whatever the exit code; stdin is empty by default. */
  run(args: readonly string[], options?: GcloudOptions): Promise<GcloudResult>;
  /** Resolves with stdout as text; throws if the exit code is not 0. */
  read(...args: readonly string[]): Promise<string>;
  close(): Promise<void>;
};

export type GcloudOptions = { readonly stdin?: Uint8Array; readonly environment?: Readonly<Record<string, string>> };

/**
 * The gcloud of this machine, with the variables that `dropforge env` prints for this cloud and no user configuration.
 */
export async function openGcloud({ dataDir }: { readonly dataDir: string }): Promise<GcloudUnderTest> {
  const directory = await mkdtemp(join(tmpdir(), 'dropforge-gcloud-'));
  const printed = (await runCli(['env', '--format=json'], { dataDir })).json()[0] as NodeJS.ProcessEnv;

  async function run(args: readonly string[], { stdin, environment }: GcloudOptions = {}): Promise<GcloudResult> {
    // A separate configuration per process: `gcloud storage rsync` stores listings in a file of its configuration and
    // deletes it when done, even while another process reads it.
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
        throw new Error(`gcloud ${args.join(' ')} exited with ${code}: ${stderr}`);
      }
      return stdout.toString();
    },
    close: () => rm(directory, { recursive: true }),
  };
}
