import { benchArchiveInspection } from './archive-inspection.ts';
import type { BenchRow } from './bench-row.ts';
import { benchCluster } from './cluster.ts';
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
import { benchProgramStart } from './program-start.ts';
import { benchReconcileReads } from './reconcile-reads.ts';
import { benchSharedOutputs } from './shared-outputs.ts';
import { benchTransfers } from './transfers.ts';
import { benchTuning } from './tuning.ts';
import { benchTuningPipeline } from './tuning-pipeline.ts';

export type Bench = {
  /** This line says what is measured. */
  readonly what: string;
  /** Returns its rows at once if they are measured in turns, else one after another. */
  measure(environment: NodeJS.ProcessEnv): Promise<readonly BenchRow[]> | AsyncIterable<BenchRow>;
};

/** By the name on the command line. */
export const BENCHES: Readonly<Record<string, Bench>> = {
  pipeline: { what: 'latency from an upload to a VM, next to empty functions', measure: benchPipelineLatency },
  archive: {
    what: 'time and memory to inspect large archives, next to tar',
    measure: benchArchiveInspection,
  },
  reconcile: { what: 'reads of a reconcile tick with 10,000 healthy replicas', measure: benchReconcileReads },
  start: { what: "time and memory from a function's start to its first response", measure: benchFunctionStart },
  program: {
    what: 'start of the installed program, size, time to the first model',
    measure: benchProgramStart,
  },
  packages: { what: 'first and second start of jobs with the same requirements', measure: benchPackageStart },
  containers: { what: 'start and throughput of a program in a container (needs Docker)', measure: benchContainers },
  logs: { what: 'time of programs that log much, next to `cat`', measure: benchLogSpeed },
  health: { what: 'CPU time of the detectors of training health', measure: benchHealthCost },
  'page-charts': { what: 'the screen of a job with 1,000,000 points and 100,000 lines', measure: benchPageCharts },
  'page-jobs': { what: 'the list of 10,000 jobs in a browser', measure: benchPageJobs },
  metrics: { what: 'what reported metrics cost a program and the agent', measure: benchMetricsOverhead },
  'metrics-reading': { what: 'reads of a million points, and the delay of a new one', measure: benchMetricsReading },
  transfers: { what: 'uploads and restores, next to `gcloud storage rsync` (needs gcloud)', measure: benchTransfers },
  tuning: { what: 'regrets of the optimizer on 25 problems, next to random trials and TPE', measure: benchTuning },
  'early-stopping': { what: 'training that early stopping saves, and its regret', measure: benchEarlyStopping },
  cluster: {
    what: 'start and control-plane cost of clusters of up to 32 replicas',
    measure: benchCluster,
  },
  'shared-outputs': {
    what: 'time until the shards of three replicas are durable',
    measure: benchSharedOutputs,
  },
  'tuning-pipeline': { what: 'latency and billed calls of a trial, next to a job', measure: benchTuningPipeline },
};
