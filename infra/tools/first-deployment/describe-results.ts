import type { Result } from '#infra/tools/first-deployment/perform-rows.ts';
import { createTools, JOB_MINUTES_MAX, MACHINE_TYPE, type Surroundings } from '#infra/tools/first-deployment/tools.ts';
import { priceOf } from '#shared/catalog/price.ts';
import { formatUsd } from '#shared/text/format-usd.ts';

const NOT_INCLUDED =
  'Not included: disks, the builds of the functions, their runs and storage (docs/costs.md), which the bill shows by SKU a day later.';

const PRICES_MS_MAX = 60_000;

/** What a run creates and what it costs at most, before anything is created. */
export function describePlan({ projectId, region, folder }: Surroundings, isBegun: boolean): string {
  const machine = { machineType: MACHINE_TYPE, accelerator: null, count: 1 };
  const prices = (['STANDARD', 'SPOT'] as const).map((model) => priceOf([machine], model));
  const perHourUsd = prices.reduce<number | null>(
    (sum, price) => (sum === null || price.perHourUsd === null ? null : sum + price.perHourUsd),
    0,
  );
  const usd = perHourUsd === null ? 'an unknown amount' : `at most ${formatUsd((perHourUsd * JOB_MINUTES_MAX) / 60)}`;
  return [
    `${isBegun ? 'Continues the deployment that an earlier run left in' : 'Deploys Dropforge to'} ${projectId} (${region}), trains on it, and destroys everything that it deployed.`,
    `Two jobs run on ${MACHINE_TYPE}, one of them on a Spot VM that is preempted, for ${JOB_MINUTES_MAX} minutes at most: ${usd} at list prices of ${prices[0]?.asOf} in ${prices[0]?.region}. ${NOT_INCLUDED}`,
    `It takes about 40 minutes. Ctrl-C destroys at once. If this process is killed, run it again, with --destroy to only destroy: the state is in ${folder}.`,
    '',
  ].join('\n');
}

/** The price of each row's own job so far, as the deployment computes it from the times of its VMs; null if unknown. */
export async function readPrices(surroundings: Surroundings, results: readonly Result[]) {
  const tools = createTools(surroundings, AbortSignal.timeout(PRICES_MS_MAX));
  const own = results.filter(({ hasJob, outcome }) => hasJob === true && outcome !== 'not reached');
  const priceOfJob = (row: string) => tools.readJob(row).then(({ price }) => price.totalUsd);
  return new Map(await Promise.all(own.map(async ({ id }) => [id, await priceOfJob(id).catch(() => null)] as const)));
}

/** A table in Markdown, with the price of the VMs of each job. */
export function describeResults(results: readonly Result[], prices: ReadonlyMap<string, number | null>): string {
  const rows = results.map(({ id, expected, seen, outcome, seconds }) => {
    const usd = prices.get(id);
    const price = usd === undefined ? '' : usd === null ? 'unknown' : formatUsd(usd);
    return [id, outcome, expected, seen.replaceAll(/\s+/g, ' ').replaceAll('|', '/'), String(seconds), price];
  });
  const head = ['row', 'result', 'expected', 'seen', 'seconds', 'VMs'];
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return `\n${lines.join('\n')}\n\nThe prices are list prices. ${NOT_INCLUDED}\n`;
}
