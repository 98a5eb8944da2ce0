import type { Command, CommandEntry } from '#cli/core/command.ts';

/** The files that export commands, loaded on demand, which keeps the start fast. */
const FILES = {
  admin: () => import('#cli/commands/admin.ts'),
  cat: () => import('#cli/commands/cat.ts'),
  cp: () => import('#cli/commands/cp.ts'),
  dashboard: () => import('#cli/commands/dashboard.ts'),
  demo: () => import('#cli/commands/demo/demo.ts'),
  deployFiles: () => import('#cli/commands/deploy-files.ts'),
  env: () => import('#cli/commands/env.ts'),
  exec: () => import('#cli/commands/exec.ts'),
  hpTuningJobs: () => import('#cli/commands/hp-tuning-jobs.ts'),
  init: () => import('#cli/commands/init.ts'),
  jobsCancel: () => import('#cli/commands/jobs-cancel.ts'),
  jobsDescribe: () => import('#cli/commands/jobs-describe.ts'),
  jobsList: () => import('#cli/commands/jobs-list.ts'),
  jobsRelease: () => import('#cli/commands/jobs-release.ts'),
  jobsStreamLogs: () => import('#cli/commands/jobs-stream-logs.ts'),
  jobsSubmit: () => import('#cli/commands/jobs-submit.ts'),
  jobsValidate: () => import('#cli/commands/jobs-validate.ts'),
  jobsWait: () => import('#cli/commands/jobs-wait.ts'),
  ls: () => import('#cli/commands/ls.ts'),
  metrics: () => import('#cli/commands/metrics.ts'),
  notify: () => import('#cli/commands/notify.ts'),
  rm: () => import('#cli/commands/rm.ts'),
  run: () => import('#cli/commands/run.ts'),
  secrets: () => import('#cli/commands/secrets.ts'),
  status: () => import('#cli/commands/status.ts'),
  tensorboard: () => import('#cli/commands/tensorboard.ts'),
  trials: () => import('#cli/commands/trials.ts'),
  up: () => import('#cli/commands/up.ts'),
  version: () => import('#cli/commands/version.ts'),
};

/** `jobsStreamLogs` of `jobs stream-logs`: the name by which a file exports the command. */
type ExportOf<Name extends string> = Name extends `${infer Group} ${infer Rest}`
  ? `${ExportOf<Group>}${Capitalize<ExportOf<Rest>>}`
  : Name extends `${infer Word}-${infer Rest}`
    ? `${Word}${Capitalize<ExportOf<Rest>>}`
    : Name;

type CommandFile<Name extends string> = Readonly<Record<ExportOf<Name>, Command>>;

function command<Name extends string>(name: Name, summary: string, load: () => Promise<CommandFile<Name>>) {
  const exported = name.replace(/[ -](\w)/g, (_, letter: string) => letter.toUpperCase()) as ExportOf<Name>;
  return { name, summary, load: async (): Promise<Command> => (await load())[exported] };
}

function sameAs<Name extends string>({ name: other, load }: CommandEntry, name: Name) {
  return { name, summary: `Same as ${other}`, load };
}

const JOBS_LIST = command('jobs list', 'List jobs, newest first', FILES.jobsList);
const JOBS_DESCRIBE = command(
  'jobs describe',
  'Show the state, cause, attempts, replicas and price of a job',
  FILES.jobsDescribe,
);
const STREAM_LOGS = command(
  'jobs stream-logs',
  'Print the log of a job and follow it until the job ends',
  FILES.jobsStreamLogs,
);
const JOBS_CANCEL = command('jobs cancel', 'Cancel jobs', FILES.jobsCancel);

/** All commands, in the order of the help. */
export const COMMANDS = [
  {
    section: 'Start here:',
    ...command('demo', 'Train examples/digits on this machine, from upload to trained model', FILES.demo),
  },
  command('run', 'Run a program: submit its folder, follow its log, and copy its outputs', FILES.run),
  command('init', 'Write an example of a training program, with its job file and test', FILES.init),
  command('up', 'Run the embedded cloud in the foreground', FILES.up),
  command('dashboard', 'Print the address of the page that shows and starts jobs, or open it', FILES.dashboard),
  {
    section: 'Jobs:',
    ...command('jobs submit training', 'Package, upload and submit a training program', FILES.jobsSubmit),
  },
  command('jobs validate', 'Validate job files without submitting them', FILES.jobsValidate),
  JOBS_LIST,
  JOBS_DESCRIBE,
  STREAM_LOGS,
  command('jobs wait', 'Wait until a job ends', FILES.jobsWait),
  JOBS_CANCEL,
  command('jobs release', 'Delete the VM that a failed job keeps for a look', FILES.jobsRelease),
  sameAs(STREAM_LOGS, 'logs'),
  command('exec', 'Run a command, or a shell, where the program of a job runs', FILES.exec),
  command('ssh', 'Open a shell where the program of a job runs', FILES.exec),
  command(
    'metrics',
    'List the metrics of a job with their last values, or print the points of some of them',
    FILES.metrics,
  ),
  command('trials', 'List the trials of a tuning job, best first, or show one of them', FILES.trials),
  command('tensorboard', 'Print the command that shows a job in your own TensorBoard', FILES.tensorboard),
  { section: 'Files:', ...command('ls', 'List buckets or objects', FILES.ls) },
  command('cp', 'Copy files and objects', FILES.cp),
  command('cat', 'Print objects', FILES.cat),
  command('rm', 'Delete objects', FILES.rm),
  { section: 'Clouds:', ...command('status', 'Show which cloud commands talk to, and what runs there', FILES.status) },
  command('env', 'Print environment variables that point gcloud and client libraries to the embedded cloud', FILES.env),
  command('deploy files', 'Write what a deployment on Google Cloud is made of into a folder', FILES.deployFiles),
  command('notify list', 'List the notification channels, with the last outcome of each', FILES.notify),
  command('notify test', 'Send a test to notification channels, and show what they answer', FILES.notify),
  command('secrets create', 'Create a secret in the embedded cloud', FILES.secrets),
  command('secrets list', 'List the secrets of the embedded cloud', FILES.secrets),
  command('secrets delete', 'Delete a secret of the embedded cloud', FILES.secrets),
  command('admin preempt', 'Preempt a VM with the notice that Compute Engine gives', FILES.admin),
  command('admin maintain', 'Give a VM notice of host maintenance, as long as that of a preemption', FILES.admin),
  command('admin reset', 'Reset a VM: power off without notice, then boot from its disk', FILES.admin),
  command('admin host-error', 'Simulate a host error: stop a VM without notice', FILES.admin),
  command('admin stockout', 'Simulate a stockout of a zone, or end it with --clear', FILES.admin),
  command('admin outage', 'Make a zone unreachable for the control plane, or end it with --clear', FILES.admin),
  {
    section: 'Jobs, by the commands of Vertex AI:',
    ...command('custom-jobs create', 'Submit a training job with the flags of Vertex AI', FILES.jobsSubmit),
  },
  sameAs(JOBS_LIST, 'custom-jobs list'),
  sameAs(JOBS_DESCRIBE, 'custom-jobs describe'),
  sameAs(STREAM_LOGS, 'custom-jobs stream-logs'),
  sameAs(JOBS_CANCEL, 'custom-jobs cancel'),
  command('hp-tuning-jobs create', 'Submit a tuning job with the flags of Vertex AI', FILES.hpTuningJobs),
  command('hp-tuning-jobs list', 'List tuning jobs, newest first', FILES.hpTuningJobs),
  command('hp-tuning-jobs describe', 'Show the best values, progress and cost of a tuning job', FILES.hpTuningJobs),
  sameAs(STREAM_LOGS, 'hp-tuning-jobs stream-logs'),
  sameAs(JOBS_CANCEL, 'hp-tuning-jobs cancel'),
  {
    section: 'This program:',
    ...command('version', 'Print the versions of this program and of Node.js', FILES.version),
  },
  {
    name: 'completion',
    summary: 'Print the script that completes commands in a shell',
    load: async (): Promise<Command> => (await import('#cli/commands/completion.ts')).createCompletion(COMMANDS),
  },
] as const satisfies readonly CommandEntry[];

/** `jobs` and `jobs submit` for `jobs submit training`. */
type GroupsOf<Name extends string, Parent extends string = ''> = Name extends `${infer Word} ${infer Rest}`
  ? `${Parent}${Word}` | GroupsOf<Rest, `${Parent}${Word} `>
  : never;

export type GroupName = GroupsOf<(typeof COMMANDS)[number]['name']>;
