import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findRegion, writeConfiguration } from '#infra/tools/first-deployment/configuration.ts';
import { describePlan, describeResults, readPrices } from '#infra/tools/first-deployment/describe-results.ts';
import { listDeployed } from '#infra/tools/first-deployment/destroy.ts';
import { DESTROY, performRows } from '#infra/tools/first-deployment/perform-rows.ts';
import type { Row } from '#infra/tools/first-deployment/rows.ts';
import { createCommandRunner } from '#infra/tools/first-deployment/run-command.ts';
import { createTools } from '#infra/tools/first-deployment/tools.ts';

const USAGE =
  'Usage: npm run first-deployment -- --project PROJECT [--region REGION] [--image IMAGE] [--webhook URL] [--yes] [--keep] [--destroy]';

/** The rows' program needs no more than its Python. */
const IMAGE = 'projects/debian-cloud/global/images/family/debian-12';

/** What the rows run with: the same ones run against emulators. */
export type Settings = {
  /** The folder of this checkout. */
  readonly root: string;
  /** Has a folder for each project: configuration, state, and the output of all commands. */
  readonly folders: string;
  /** That of this process if undefined. */
  readonly environment?: NodeJS.ProcessEnv;
  readonly rows: readonly Row[];
  readonly pollMs: number;
  readonly write: (text: string) => void;
  readonly confirm: () => Promise<boolean>;
  /** Skips the remaining rows; what they have deployed is destroyed all the same. */
  readonly interrupted: AbortSignal;
};

type Flags = NonNullable<ReturnType<typeof readFlags>>;

/** Performs the rows on a project and destroys what they deployed. Returns 0 if all have passed, 2 for a usage error. */
export async function runFirstDeployment(args: readonly string[], settings: Settings): Promise<number> {
  const flags = readFlags(args);
  if (flags === undefined) {
    settings.write(`${USAGE}\n`);
    return 2;
  }
  try {
    return await deploy(flags, settings);
  } catch (error) {
    settings.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

function readFlags(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const options = { project: text, region: text, image: text, webhook: text, yes: flag, keep: flag, destroy: flag };
  try {
    const { project = '', ...others } = parseArgs({ args: [...args], options }).values;
    return /^[a-z][a-z0-9-]{4,28}[a-z0-9]$/.test(project) ? { project, ...others } : undefined;
  } catch {
    return undefined;
  }
}

async function deploy(flags: Flags, settings: Settings): Promise<number> {
  const { root, folders, environment, write, interrupted } = settings;
  const { project: projectId, image = IMAGE, webhook } = flags;
  const folder = join(folders, projectId);
  const runId = String(Math.floor(Date.now() / 1_000));
  const logs = join(folder, 'logs', runId);
  await mkdir(logs, { recursive: true });
  const begun = await findRegion(folder);
  const region = begun ?? flags.region ?? 'us-central1';
  const runCommand = createCommandRunner(logs, environment);
  const surroundings = { ...{ root, folder, projectId, region, webhook, runId, runCommand }, pollMs: settings.pollMs };
  if (begun === undefined) {
    const found = await listDeployed(createTools(surroundings, interrupted));
    if (found.length > 0 || flags.destroy) {
      write(`${describeForeign(projectId, found)}\n`);
      return found.length > 0 ? 1 : 0;
    }
  }
  if (!flags.destroy) {
    write(describePlan(surroundings, begun !== undefined));
    if (!flags.yes && !(await settings.confirm())) {
      return 1;
    }
    if (begun === undefined) {
      await writeConfiguration(folder, root, { projectId, region, image });
    }
  }
  const performance = { surroundings, write, interrupted };
  const results = await performRows({ ...performance, rows: flags.destroy ? [] : settings.rows });
  const prices = await readPrices(surroundings, results);
  const last = { ...performance, rows: flags.keep ? [] : [DESTROY], interrupted: new AbortController().signal };
  const all = [...results, ...(await performRows(last))];
  write(describeResults(all, prices));
  const isLeft = all.at(-1)?.id !== DESTROY.id || all.at(-1)?.outcome !== 'passed';
  write(isLeft ? `${projectId} is still billed: destroy the deployment by the same command with --destroy.\n` : '');
  return all.every(({ outcome }) => outcome === 'passed') ? 0 : 1;
}

function describeForeign(projectId: string, found: readonly string[]): string {
  return found.length === 0
    ? `Nothing to destroy: no run has deployed to ${projectId} from this folder.`
    : `${projectId} has a deployment that was not made from this folder (${found.join(', ')}). Nothing was changed: use a project without one.`;
}
