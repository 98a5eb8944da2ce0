import { ACTIVE_POLL_MS, IDLE_POLL_MS } from '#infra/google-cloud/firestore/firestore-change-feed.ts';

/** List prices in us-central1, US dollars, November 2026 (cloud.google.com/run/pricing, …/firestore/pricing, …/logging). */
const PRICES = {
  vcpuSecond: 0.000024,
  gibSecond: 0.0000025,
  request: 0.4e-6,
  firestoreRead: 0.3e-6,
  firestoreWrite: 0.9e-6,
  loggedGib: 0.5,
  storedGbMonth: 0.02,
  /** Standard storage in a region (cloud.google.com/storage/pricing): writes and lists, and reads. */
  classA: 0.005e-3,
  classB: 0.0004e-3,
  /** Charged since May 2026 (cloud.google.com/stackdriver/pricing). */
  alertCondition: 0.1,
  alertSeries: 0.35e-6,
  /** The price per MiB of user-defined metrics of the log, after the free 150 MiB (same page). */
  metricMib: 0.258,
} as const;

/** CPUs of a function whose CPU is not set (cloud.google.com/run/docs/configuring/functions/memory-and-cpu). */
const DEFAULT_CPUS: Readonly<Record<string, readonly [number, string]>> = {
  '256Mi': [1 / 6, '1/6 vCPU'],
  '512Mi': [1 / 3, '1/3 vCPU'],
};

/** Cloud Run bills the time of an instance with requests in steps of 100 ms. */
const BILLED_SECONDS_MIN = 0.1;
const DAYS_A_MONTH = 30;
const MINUTES_A_MONTH = DAYS_A_MONTH * 24 * 60;
const JOBS = 1_000;
const PAGES = 5;
const READS_A_POLL = 2;
const SECONDS_A_JOB = 3_600;
const ALERT_EVALUATION_SECONDS = 30;
/** The program's own and that of the machine. */
const METRIC_HISTORIES = 2;
/** A point of a distribution (same page). */
const POINT_BYTES = 80;
/** Ended, attempts, times to start and to close, verdict. */
const POINTS_A_JOB = 5;
/** Cloud Run's own entry for a request. */
const REQUEST_ENTRY_BYTES = 1_100;
/** A checkpoint every ten minutes, of two files and the manifest. */
const CHECKPOINT_WRITES_A_JOB = 6 * 3;
/** The claim, the end mark and the exit; its reports. */
const OTHER_WRITES_A_JOB = 10;
/** Package, agent, manifest, recorded success, and what intake and reports look for. */
const STORAGE_READS_A_JOB = 20;
/** QUEUED, why it waits, PREPARING, RUNNING, and its end. */
const UPDATES_A_JOB = 5;

/** `cpu` is null if it follows from the memory. */
type FunctionSize = { readonly memory: string; readonly cpu: string | null };

/** The deployment, as far as its price depends on it. */
export type DeployedSettings = {
  readonly functionOf: (name: string) => FunctionSize;
  readonly watchMinutes: number;
  readonly sweepMinutes: number;
  readonly heartbeatSeconds: number;
  /** How often VMs upload metric histories, and after which time the complete log. */
  readonly syncSeconds: number;
  readonly logPartSeconds: number;
  /** Conditions of alerts, and the time series that they return while every subscription and function has one. */
  readonly alertConditions: number;
  readonly alertSeries: number;
  /** Requests of the uptime check in an hour. */
  readonly uptimeRequests: number;
  /** Size of the entries that functions log about a job. */
  readonly jobEntriesBytes: number;
  /** Days for which a replaced checkpoint is billed. */
  readonly replacedDays: number;
};

type Row = { readonly name: string; readonly usage: string; readonly dollars: number };

/** The rows of the tables of docs/costs.md, and the sentence on checkpoints; each is a line or a part of one. */
export function describeCosts(deployed: DeployedSettings): readonly string[] {
  const idle = idleRows(deployed);
  const monitoring = monitoringRows(deployed);
  const jobs = jobRows(deployed);
  const updates = UPDATES_A_JOB * JOBS;
  const notify =
    runs(deployed.functionOf('notify'), updates, BILLED_SECONDS_MIN).dollars + updates * PRICES.firestoreRead;
  const checkpoint = (PRICES.storedGbMonth / DAYS_A_MONTH) * deployed.replacedDays;
  return [
    ...[...idle, sumOf(idle), ...monitoring, ...jobs, sumOf(jobs), ...pollRows(deployed)].map(
      ({ name, usage, dollars }) =>
        `| ${name} | ${usage} | ${name.startsWith('**') ? `**${dollars.toFixed(2)}**` : dollars.toFixed(2)} |`.replace(
          '|  |',
          '| |',
        ),
    ),
    `${checkpoint.toFixed(4)} dollars`,
    `${count(updates)} runs of \`notify\`, ${notify.toFixed(2)} dollars`,
  ];
}

function idleRows(deployed: DeployedSettings): readonly Row[] {
  const ticks = MINUTES_A_MONTH / deployed.watchMinutes;
  const sweeps = MINUTES_A_MONTH / deployed.sweepMinutes;
  const watch = runs(deployed.functionOf('watch'), ticks, 0.5);
  // Five queries that find nothing, and what all VMs use.
  const reads = ticks * 6;
  return [
    {
      name: 'reconcile (`watch`)',
      usage: `${count(ticks)} runs of 0.5 s, ${watch.size}; ${count(reads)} reads`,
      dollars: watch.dollars + reads * PRICES.firestoreRead,
    },
    row('sweep', 'runs of 1.5 s', runs(deployed.functionOf('teardown'), sweeps, 1.5)),
  ];
}

/** Apart from the sum: what an operator is told, which a deployment can do without. */
function monitoringRows(deployed: DeployedSettings): readonly Row[] {
  const { alertConditions, alertSeries, uptimeRequests, watchMinutes } = deployed;
  const returned = (alertSeries * MINUTES_A_MONTH * 60) / ALERT_EVALUATION_SECONDS;
  const checks = (uptimeRequests * MINUTES_A_MONTH) / 60;
  return [
    {
      name: 'alerts, at most',
      usage: `${alertConditions} conditions; ${count(returned)} time series returned`,
      dollars: alertConditions * PRICES.alertCondition + returned * PRICES.alertSeries,
    },
    row('uptime check of `api`', 'requests of 0.5 s', runs(deployed.functionOf('api'), checks, 0.5)),
    metricRow('metric of dollars an hour', MINUTES_A_MONTH / watchMinutes),
  ];
}

function metricRow(name: string, points: number): Row {
  const dollars = ((points * POINT_BYTES) / 2 ** 20) * PRICES.metricMib;
  return { name, usage: `${count(points)} points of ${POINT_BYTES} bytes, after the free 150 MiB`, dollars };
}

function jobRows(deployed: DeployedSettings): readonly Row[] {
  const heartbeats = (JOBS * SECONDS_A_JOB) / deployed.heartbeatSeconds;
  const [reads, writes] = [19 * JOBS, 26 * JOBS];
  const metricWrites = (METRIC_HISTORIES * SECONDS_A_JOB) / deployed.syncSeconds;
  const logWrites = SECONDS_A_JOB / deployed.logPartSeconds;
  const objectWrites = JOBS * (metricWrites + logWrites + CHECKPOINT_WRITES_A_JOB + OTHER_WRITES_A_JOB);
  const objectReads = JOBS * STORAGE_READS_A_JOB;
  return [
    row('heartbeats', 'requests of 0.1 s', runs(deployed.functionOf('heartbeat'), heartbeats, BILLED_SECONDS_MIN)),
    {
      name: 'heartbeats in Firestore',
      usage: `${count(2 * heartbeats)} reads, ${count(heartbeats)} writes`,
      dollars: heartbeats * (2 * PRICES.firestoreRead + PRICES.firestoreWrite),
    },
    row(
      'provision and teardown, including waiting for Compute Engine',
      'runs of 45 s',
      runs(deployed.functionOf('provision'), 2 * JOBS, 45),
    ),
    row('intake', 'runs of 2 s', runs(deployed.functionOf('on-upload'), 2 * JOBS, 2)),
    row('reports', 'runs of 2 s', runs(deployed.functionOf('report'), 6 * JOBS, 2)),
    {
      name: 'jobs in Firestore',
      usage: `${count(reads)} reads, ${count(writes)} writes`,
      dollars: reads * PRICES.firestoreRead + writes * PRICES.firestoreWrite,
    },
    {
      name: 'Cloud Storage: metrics, logs, checkpoints, reports',
      usage: `${count(objectWrites)} operations of class A, ${count(objectReads)} of class B`,
      dollars: objectWrites * PRICES.classA + objectReads * PRICES.classB,
    },
    { name: 'logs of programs', usage: '1 GB, after the free 50 GB', dollars: PRICES.loggedGib },
    logRow(deployed, heartbeats),
    metricRow('metrics of jobs', POINTS_A_JOB * JOBS),
  ];
}

/** The lines of what functions decide about jobs, and Cloud Run's entries for their requests. */
function logRow({ jobEntriesBytes }: DeployedSettings, heartbeats: number): Row {
  const requests = heartbeats + (2 + 2 + 6) * JOBS;
  const gigabytes = (jobEntriesBytes * JOBS + requests * REQUEST_ENTRY_BYTES) / 1e9;
  return {
    name: 'logs of functions',
    usage: `${(jobEntriesBytes / 1_000).toFixed(0)} kB a job, ${count(requests)} requests: ${gigabytes.toFixed(2)} GB`,
    dollars: gigabytes * PRICES.loggedGib,
  };
}

function pollRows({ functionOf }: DeployedSettings): readonly Row[] {
  const rowOf = (name: string, pollMs: number) => {
    const polls = (PAGES * MINUTES_A_MONTH * 60_000) / pollMs;
    const requests = row(name, 'requests of 0.1 s', runs(functionOf('api'), polls, BILLED_SECONDS_MIN));
    const reads = polls * READS_A_POLL;
    const dollars = requests.dollars + reads * PRICES.firestoreRead;
    return { name, usage: `${requests.usage}; ${count(reads)} reads`, dollars };
  };
  return [
    rowOf(`a poll every ${IDLE_POLL_MS / 1_000} s, when nothing runs`, IDLE_POLL_MS),
    rowOf(`a poll every ${ACTIVE_POLL_MS / 1_000} s, without what changed`, ACTIVE_POLL_MS),
  ];
}

function row(name: string, runsOf: string, { times, size, dollars }: ReturnType<typeof runs>): Row {
  return { name, usage: `${count(times)} ${runsOf}, ${size}`, dollars };
}

function runs({ memory, cpu }: FunctionSize, times: number, seconds: number) {
  const [cpus, cpuName] = cpu === null ? (DEFAULT_CPUS[memory] ?? [1, '1 vCPU']) : [Number(cpu), `${cpu} vCPU`];
  const mebibytes = Number.parseInt(memory, 10);
  const perSecond = cpus * PRICES.vcpuSecond + (mebibytes / 1_024) * PRICES.gibSecond;
  return { times, size: `${cpuName}, ${mebibytes} MiB`, dollars: times * (seconds * perSecond + PRICES.request) };
}

function sumOf(rows: readonly Row[]): Row {
  const dollars = rows.reduce((sum, part) => sum + Number(part.dollars.toFixed(2)), 0);
  return { name: '**sum**', usage: '', dollars };
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}
