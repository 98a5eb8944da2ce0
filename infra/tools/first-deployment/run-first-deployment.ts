import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findRegion, writeConfiguration } from '#infra/tools/first-deployment/configuration.ts';
import { DESTROY, listDeployed } from '#infra/tools/first-deployment/destroy.ts';
import type { Row } from '#infra/tools/first-deployment/row.ts';
import { createCommandRunner } from '#infra/tools/first-deployment/run-command.ts';
import { createTools, JOB_MINUTES_MAX, MACHINE_TYPE, type Surroundings } from '#infra/tools/first-deployment/tools.ts';
import { priceOf } from '#shared/catalog/price.ts';
import { formatUsd } from '#shared/text/format-usd.ts';

const USAGE =
  'Usage: npm run first-deployment -- --project PROJECT [--region REGION] [--image IMAGE] [--webhook URL] [--yes] [--keep] [--destroy]';
/** The rows' program needs no more than its Python. */
const IMAGE = 'projects/debian-cloud/global/images/family/debian-12';
const NOT_INCLUDED =
  'Not included: disks, builds, runs of functions and storage (docs/costs.md), which the bill shows by SKU a day later.';
const PRICES_MS_MAX = 60_000;

/** The surroundings of a run: tests give those of emulators, and the rows are the same. */
export type Settings = Pick<Surroundings, 'root' | 'pollMs'> & {
  /** Has a folder for each project: configuration, state, and the output of all commands. */
  readonly folders: string;
  /** That of this process if undefined. */
  readonly environment?: NodeJS.ProcessEnv;
  readonly rows: readonly Row[];
  readonly write: (text: string) => void;
  readonly confirm: () => Promise<boolean>;
  /** Skips the remaining rows; what they have deployed is destroyed all the same. */
  readonly interrupted: AbortSignal;
};

type Flags = Exclude<ReturnType<typeof readFlags>, string>;
type Result = Row & {
  readonly outcome: 'passed' | 'FAILED' | 'not reached';
  readonly seen: string;
  readonly seconds: number;
};

/** Performs the rows on a project and destroys what they deployed. Returns 0 if all have passed, 2 for a usage error. */
export async function runFirstDeployment(args: readonly string[], settings: Settings): Promise<number> {
  const flags = readFlags(args);
  if (typeof flags === 'string') {
    settings.write(`${flags}\n${USAGE}\n`);
    return 2;
  }
  return deploy(flags, settings).catch((error: unknown) => {
    settings.write(`${error instanceof Error ? error.message : error}\n`);
    return 1;
  });
}

/** Returns what is wrong with the flags instead, if anything is. */
function readFlags(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const options = { project: text, region: text, image: text, webhook: text, yes: flag, keep: flag, destroy: flag };
  try {
    const { project = '', ...others } = parseArgs({ args: [...args], options }).values;
    if (!/^[a-z][a-z0-9-]{4,28}[a-z0-9]$/.test(project)) {
      return `"${project}" is not the id of a project: gcloud projects list prints yours.`;
    }
    // Functions on this machine, between emulators, call its addresses.
    if (!/^https:\/\/|^http:\/\/127\.0\.0\.1[:/]/.test(others.webhook ?? 'https://')) {
      return 'A webhook must be an https:// URL: notifications are sent to no other.';
    }
    return { project, ...others };
  } catch (error) {
    return String((error as Error).message);
  }
}

async function deploy({ project: projectId, webhook, ...flags }: Flags, settings: Settings): Promise<number> {
  const { root, folders, environment, pollMs, write, interrupted } = settings;
  const folder = join(folders, projectId);
  const runId = String(Math.floor(Date.now() / 1_000));
  const logs = join(folder, 'logs', runId);
  await mkdir(logs, { recursive: true });
  const begun = await findRegion(folder);
  const region = begun ?? flags.region ?? 'us-central1';
  const runCommand = createCommandRunner(logs, environment);
  const surroundings = { root, folder, projectId, region, webhook, runId, runCommand, pollMs };
  const found = begun === undefined ? await listDeployed(createTools(surroundings, interrupted)) : [];
  if (found.length > 0) {
    write(`${projectId} has a deployment that was not made from this folder (${found.join(', ')}). `);
    write('Nothing was changed: use a project without one.\n');
    return 1;
  }
  if (flags.destroy && begun === undefined) {
    write(`Nothing to destroy: no run has deployed to ${projectId} from this folder.\n`);
    return 0;
  }
  write(flags.destroy ? '' : describePlan(surroundings, begun !== undefined));
  if (!(flags.yes || flags.destroy || (await settings.confirm()))) {
    write('Nothing was changed: the question was not answered with y. --yes answers it.\n');
    return 1;
  }
  if (begun === undefined) {
    await writeConfiguration(folder, root, { projectId, region, image: flags.image ?? IMAGE });
  }
  const results = flags.destroy ? [] : await performRows(settings.rows, surroundings, settings);
  const prices = await readPrices(surroundings, results);
  const uninterrupted = { write, interrupted: new AbortController().signal };
  const last = flags.keep ? [] : await performRows([DESTROY], surroundings, uninterrupted);
  write(describeResults([...results, ...last], prices));
  if (last[0]?.outcome !== 'passed') {
    write(`${projectId} may still be billed: destroy what was deployed by the same command with --destroy.\n`);
  }
  return [...results, ...last].every(({ outcome }) => outcome === 'passed') ? 0 : 1;
}

/** Performs one row after the other; one whose condition has not passed is not reached. */
async function performRows(
  rows: readonly Row[],
  surroundings: Surroundings,
  { write, interrupted }: Pick<Settings, 'write' | 'interrupted'>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const row of rows) {
    const needed = results.find(({ id }) => id === row.needs);
    if (interrupted.aborted || (needed !== undefined && needed.outcome !== 'passed')) {
      results.push({ ...row, outcome: 'not reached', seen: '', seconds: 0 });
      continue;
    }
    const timeout = AbortSignal.timeout(row.secondsMax * 1_000);
    const startedAt = Date.now();
    const { outcome, seen } = await row
      .run(createTools(surroundings, AbortSignal.any([interrupted, timeout])))
      .then((shown) => ({ outcome: 'passed' as const, seen: shown }))
      .catch((error: Error) => {
        const late = timeout.aborted ? `not seen within ${row.secondsMax} s` : error.message;
        return { outcome: 'FAILED' as const, seen: interrupted.aborted ? 'interrupted' : late };
      });
    const result = { ...row, outcome, seen, seconds: Math.round((Date.now() - startedAt) / 1_000) };
    results.push(result);
    write(`${row.id}: ${outcome} after ${result.seconds} s: ${seen}\n`);
  }
  return results;
}

/** Describes what a run creates and what it costs at most, before anything is created. */
function describePlan({ projectId, region, folder }: Surroundings, isBegun: boolean): string {
  const price = priceOf([{ machineType: MACHINE_TYPE, accelerator: null, count: 2 }], 'STANDARD');
  const usd = price.perHourUsd === null ? 'unknown' : `at most ${formatUsd((price.perHourUsd * JOB_MINUTES_MAX) / 60)}`;
  const deploys = isBegun ? 'Continues the deployment that an earlier run left in' : 'Deploys Dropforge to';
  return [
    `${deploys} ${projectId} (${region}), trains on it, and destroys all of it.`,
    `Two jobs run for ${JOB_MINUTES_MAX} minutes at most, each on one ${MACHINE_TYPE}.`,
    `The price of their VMs is ${usd} (list price of ${price.asOf} in ${price.region}).`,
    NOT_INCLUDED,
    `It takes about 40 minutes. Ctrl-C destroys at once. The state is in ${folder}.`,
    'If this process is killed, run it again; --destroy only destroys.\n',
  ].join('\n');
}

/** The price of each row's own job, as the deployment computes it from the times of its VMs; null if it is unknown. */
async function readPrices(surroundings: Surroundings, results: readonly Result[]) {
  const { readJob } = createTools(surroundings, AbortSignal.timeout(PRICES_MS_MAX));
  const own = results.filter(({ hasJob, outcome }) => hasJob === true && outcome !== 'not reached');
  const priceOfJob = (row: string) => readJob(row).then(({ price }) => price.totalUsd);
  return new Map(await Promise.all(own.map(async ({ id }) => [id, await priceOfJob(id).catch(() => null)] as const)));
}

/** A table in Markdown, with the list price of the VMs of each job. */
function describeResults(results: readonly Result[], prices: ReadonlyMap<string, number | null>): string {
  const rows = results.map(({ id, expected, seen, outcome, seconds }) => {
    const usd = prices.get(id);
    const price = usd === undefined ? '' : usd === null ? 'unknown' : formatUsd(usd);
    return [id, outcome, expected, seen.replaceAll(/\s+/g, ' ').replaceAll('|', '/'), String(seconds), price];
  });
  const head = ['row', 'result', 'expected', 'seen', 'seconds', 'VMs'];
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return `\n${lines.join('\n')}\n\nPrices are list prices. ${NOT_INCLUDED}\n`;
}
