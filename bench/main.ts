import Table from 'cli-table3';
import { Argument, Command, Option } from 'commander';
import { benchArchiveInspection } from './archive-inspection.ts';
import type { BenchRow } from './bench-row.ts';
import { benchContainers } from './containers.ts';
import { benchEarlyStopping } from './early-stopping.ts';
import { benchFunctionStart } from './function-start.ts';
import { benchHealthCost } from './health-cost.ts';
import { benchLogSpeed } from './log-speed.ts';
import { benchMetricsOverhead } from './metrics-overhead.ts';
import { benchMetricsReading } from './metrics-reading.ts';
import { benchPackageStart } from './package-start.ts';
import { benchPageCharts } from './page-charts.ts';
import { benchPageJobs } from './page-jobs.ts';
import { benchPipelineLatency } from './pipeline-latency.ts';
import { benchReconcileReads } from './reconcile-reads.ts';
import { benchTransfers } from './transfers.ts';
import { benchTuning } from './tuning.ts';
import { benchTuningPipeline } from './tuning-pipeline.ts';

const BENCHES: Readonly<Record<string, () => Promise<BenchRow[]>>> = {
  pipeline: () => benchPipelineLatency(process.env),
  archive: benchArchiveInspection,
  reconcile: benchReconcileReads,
  start: benchFunctionStart,
  packages: benchPackageStart,
  containers: benchContainers,
  logs: benchLogSpeed,
  health: benchHealthCost,
  'page-charts': benchPageCharts,
  'page-jobs': benchPageJobs,
  metrics: benchMetricsOverhead,
  'metrics-reading': benchMetricsReading,
  transfers: () => benchTransfers(process.env),
  tuning: benchTuning,
  'early-stopping': benchEarlyStopping,
  'tuning-pipeline': () => benchTuningPipeline(process.env),
};

function drawTable(rows: readonly BenchRow[]): string {
  const table = new Table({
    head: ['bench', 'measured', 'floor', 'ratio', 'goal', ''],
    colWidths: [51, 18, 18],
    wordWrap: true,
    style: { head: [], border: [] },
  });
  for (const { name, measured, floor, ratio, goal, isMet } of rows) {
    table.push([name, measured, floor, ratio.toFixed(2), goal, verdictOf(isMet)]);
  }
  return table.toString();
}

function verdictOf(isMet: BenchRow['isMet']): string {
  return isMet === null ? 'inconclusive' : isMet ? 'met' : 'missed';
}

await new Command('bench')
  .description(
    'Measures the goals of the design, each next to its floor. A missed goal is reported, but is not a failure.',
  )
  .addArgument(new Argument('[benches...]', 'benchmarks to run (default: all)').choices(Object.keys(BENCHES)))
  .addOption(new Option('--format <FORMAT>', 'output format').choices(['text', 'json']).default('text'))
  .action(async (names: readonly string[], { format }: { readonly format: string }) => {
    const rows: BenchRow[] = [];
    for (const [name, bench] of Object.entries(BENCHES)) {
      if (names.length === 0 || names.includes(name)) {
        rows.push(...(await bench()));
      }
    }
    process.stdout.write(`${format === 'json' ? JSON.stringify(rows) : drawTable(rows)}\n`);
  })
  .parseAsync();
