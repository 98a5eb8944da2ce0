import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import type { RunCommand } from '#infra/tools/first-deployment/run-command.ts';
import { jobViewSchema } from '#shared/protocol/job-view.ts';

/** An earlier run that was killed may have left a Terraform that is still at work. */
export const LOCK = '-lock-timeout=1200s';
const ERROR_CHARACTERS_MAX = 400;
const LOG_MS_MAX = 5_000;
/** A job that nothing cancels ends by itself; its VM, by Compute Engine's own limit. */
export const JOB_MINUTES_MAX = 30;
export const MACHINE_TYPE = 'e2-standard-2';

/** A row has shown this instead of what it expects. */
export class Unexpected extends Error {}

export type Surroundings = {
  readonly projectId: string;
  readonly region: string;
  readonly webhook: string | undefined;
  /** The project's folder, and that of this checkout. */
  readonly folder: string;
  readonly root: string;
  /** Distinguishes the jobs of this run from those of earlier ones, whose ids are never used again. */
  readonly runId: string;
  readonly runCommand: RunCommand;
  readonly pollMs: number;
};

export type Tools = ReturnType<typeof createTools>;

/** The commands of an operator. Each ends when the signal is aborted. */
export function createTools(surroundings: Surroundings, signal: AbortSignal) {
  const { projectId, region, folder, root, runId, runCommand, pollMs } = surroundings;
  const deploymentPath = join(folder, 'deployment.json');
  const run = (command: readonly string[], input?: string) => runCommand(command, signal, input);
  const gcloud = (...args: string[]) => ['gcloud', ...args, `--project=${projectId}`, '--quiet'];
  const terraform = (...args: string[]) => ['terraform', `-chdir=${folder}`, ...args, '-no-color'];
  const cli = [process.execPath, join(root, 'cli', 'main.ts'), `--deployment=${deploymentPath}`];
  const dropforge = (...args: string[]) => [...cli, ...args];
  const jobIdOf = (row: string) => `first_${runId}_${row}`;

  /** Returns what the command prints; throws Unexpected if it fails. */
  async function must(command: readonly string[], input?: string): Promise<string> {
    const { status, stdout, stderr } = await run(command, input);
    if (status !== 0) {
      const text = (stderr + stdout).trim().slice(-ERROR_CHARACTERS_MAX).replaceAll(/\s+/g, ' ');
      throw new Unexpected(`${command.slice(0, 5).join(' ')} ended with ${status}: ${text}`);
    }
    return stdout;
  }

  /** Repeats until there is a value: a row's limit ends it. */
  async function until<T>(look: () => Promise<T | undefined | false>): Promise<T> {
    for (;;) {
      const found = await look();
      if (found !== undefined && found !== false) {
        return found;
      }
      await delay(pollMs, undefined, { signal });
    }
  }

  return {
    ...surroundings,
    ...{ deploymentPath, run, must, until, gcloud, terraform, dropforge, jobIdOf },
    readDeployment: async () =>
      z.object({ api: z.string(), jobsBucket: z.string() }).parse(JSON.parse(await readFile(deploymentPath, 'utf8'))),
    readJob: async (row: string) =>
      jobViewSchema.parse(JSON.parse(await must(dropforge('jobs', 'describe', jobIdOf(row), '--format=json')))),
    /** The log of a job so far: the command follows a job that runs. */
    async readLog(jobId: string): Promise<string> {
      const briefly = AbortSignal.any([signal, AbortSignal.timeout(LOG_MS_MAX)]);
      return (await runCommand(dropforge('jobs', 'stream-logs', jobId), briefly)).stdout;
    },
    /** Submits infra/tools/first-deployment/count.py. */
    async submit(row: string, { steps, spot }: { readonly steps: number; readonly spot: boolean }): Promise<string> {
      const packages = [join(import.meta.dirname, 'count.py')];
      const job = { module: 'count.py', packages, args: [String(steps)], machine: MACHINE_TYPE, spot, region };
      const path = join(folder, `${row}.json`);
      await writeFile(path, JSON.stringify({ ...job, maxRuntime: `${JOB_MINUTES_MAX}m` }));
      await must(dropforge('jobs', 'submit', 'training', jobIdOf(row), `--config=${path}`));
      return jobIdOf(row);
    },
    /** Names and zones of the VMs of a deployment, separated by tabs. */
    async listVms(): Promise<readonly string[]> {
      const filter = '--filter=labels.managed-by=dropforge';
      const text = await must(gcloud('compute', 'instances', 'list', filter, '--format=value(name,zone.basename())'));
      return text.split('\n').filter(Boolean);
    },
  };
}
