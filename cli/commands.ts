import type { Command, CommandEntry } from '#cli/core/command.ts';

/** The commands that gcloud has for each kind of job. */
const JOB_COMMANDS = {
  list: async () => (await import('#cli/commands/jobs-list.ts')).jobsList,
  describe: async () => (await import('#cli/commands/jobs-describe.ts')).jobsDescribe,
  'stream-logs': async () => (await import('#cli/commands/jobs-stream-logs.ts')).jobsStreamLogs,
  cancel: async () => (await import('#cli/commands/jobs-cancel.ts')).jobsCancel,
} as const;

function sameAsJobs<Group extends string, Verb extends keyof typeof JOB_COMMANDS>(group: Group, verb: Verb) {
  return { name: `${group} ${verb}`, summary: `Same as jobs ${verb}`, load: JOB_COMMANDS[verb] } as const;
}

/** All commands, in the order of the help. */
export const COMMANDS = [
  {
    name: 'demo',
    section: 'Start here:',
    summary: 'Train examples/digits on this machine, from upload to trained model',
    load: async () => (await import('#cli/commands/demo/demo.ts')).demo,
  },
  {
    name: 'run',
    summary: 'Run a program: submit its folder, follow its log, and copy its outputs',
    load: async () => (await import('#cli/commands/run.ts')).run,
  },
  {
    name: 'init',
    summary: 'Write an example of a training program, with its job file and test',
    load: async () => (await import('#cli/commands/init.ts')).init,
  },
  {
    name: 'up',
    summary: 'Run the embedded cloud in the foreground',
    load: async () => (await import('#cli/commands/up.ts')).up,
  },
  {
    name: 'dashboard',
    summary: 'Print the address of the page that shows and starts jobs, or open it',
    load: async () => (await import('#cli/commands/dashboard.ts')).dashboard,
  },
  {
    name: 'jobs submit training',
    section: 'Jobs:',
    summary: 'Package, upload and submit a training program',
    load: async () => (await import('#cli/commands/jobs-submit.ts')).jobsSubmitTraining,
  },
  {
    name: 'jobs validate',
    summary: 'Validate job files without submitting them',
    load: async () => (await import('#cli/commands/jobs-validate.ts')).jobsValidate,
  },
  {
    name: 'jobs list',
    summary: 'List jobs, newest first',
    load: JOB_COMMANDS.list,
  },
  {
    name: 'jobs describe',
    summary: 'Show the state, cause, attempts, replicas and price of a job',
    load: JOB_COMMANDS.describe,
  },
  {
    name: 'jobs stream-logs',
    summary: 'Print the log of a job and follow it until the job ends',
    load: JOB_COMMANDS['stream-logs'],
  },
  {
    name: 'jobs wait',
    summary: 'Wait until a job ends',
    load: async () => (await import('#cli/commands/jobs-wait.ts')).jobsWait,
  },
  {
    name: 'jobs cancel',
    summary: 'Cancel jobs',
    load: JOB_COMMANDS.cancel,
  },
  {
    name: 'jobs release',
    summary: 'Delete the VM that a failed job keeps for a look',
    load: async () => (await import('#cli/commands/jobs-release.ts')).jobsRelease,
  },
  {
    name: 'logs',
    summary: 'Same as jobs stream-logs',
    load: JOB_COMMANDS['stream-logs'],
  },
  {
    name: 'exec',
    summary: 'Run a command, or a shell, where the program of a job runs',
    load: async () => (await import('#cli/commands/exec.ts')).execCommand,
  },
  {
    name: 'ssh',
    summary: 'Open a shell where the program of a job runs',
    load: async () => (await import('#cli/commands/exec.ts')).ssh,
  },
  {
    name: 'metrics',
    summary: 'List the metrics of a job with their last values, or print the points of some of them',
    load: async () => (await import('#cli/commands/metrics.ts')).metrics,
  },
  {
    name: 'trials',
    summary: 'List the trials of a tuning job, best first, or show one of them',
    load: async () => (await import('#cli/commands/trials.ts')).trials,
  },
  {
    name: 'tensorboard',
    summary: 'Print the command that shows a job in your own TensorBoard',
    load: async () => (await import('#cli/commands/tensorboard.ts')).tensorboard,
  },
  {
    name: 'ls',
    section: 'Files:',
    summary: 'List buckets or objects',
    load: async () => (await import('#cli/commands/ls.ts')).ls,
  },
  {
    name: 'cp',
    summary: 'Copy files and objects',
    load: async () => (await import('#cli/commands/cp.ts')).cp,
  },
  {
    name: 'cat',
    summary: 'Print objects',
    load: async () => (await import('#cli/commands/cat.ts')).cat,
  },
  {
    name: 'rm',
    summary: 'Delete objects',
    load: async () => (await import('#cli/commands/rm.ts')).rm,
  },
  {
    name: 'status',
    section: 'Clouds:',
    summary: 'Show which cloud commands talk to, and what runs there',
    load: async () => (await import('#cli/commands/status.ts')).status,
  },
  {
    name: 'env',
    summary: 'Print environment variables that point gcloud and client libraries to the embedded cloud',
    load: async () => (await import('#cli/commands/env.ts')).env,
  },
  {
    name: 'deploy files',
    summary: 'Write what a deployment on Google Cloud is made of into a folder',
    load: async () => (await import('#cli/commands/deploy-files.ts')).deployFiles,
  },
  {
    name: 'notify list',
    summary: 'List the notification channels, with the last outcome of each',
    load: async () => (await import('#cli/commands/notify.ts')).notifyList,
  },
  {
    name: 'notify test',
    summary: 'Send a test to notification channels, and show what they answer',
    load: async () => (await import('#cli/commands/notify.ts')).notifyTest,
  },
  {
    name: 'secrets create',
    summary: 'Create a secret in the embedded cloud',
    load: async () => (await import('#cli/commands/secrets.ts')).secretsCreate,
  },
  {
    name: 'secrets list',
    summary: 'List the secrets of the embedded cloud',
    load: async () => (await import('#cli/commands/secrets.ts')).secretsList,
  },
  {
    name: 'secrets delete',
    summary: 'Delete a secret of the embedded cloud',
    load: async () => (await import('#cli/commands/secrets.ts')).secretsDelete,
  },
  {
    name: 'admin preempt',
    summary: 'Preempt a VM with the notice that Compute Engine gives',
    load: async () => (await import('#cli/commands/admin.ts')).adminPreempt,
  },
  {
    name: 'admin maintain',
    summary: 'Give a VM notice of host maintenance, as long as that of a preemption',
    load: async () => (await import('#cli/commands/admin.ts')).adminMaintain,
  },
  {
    name: 'admin reset',
    summary: 'Reset a VM: power off without notice, then boot from its disk',
    load: async () => (await import('#cli/commands/admin.ts')).adminReset,
  },
  {
    name: 'admin host-error',
    summary: 'Simulate a host error: stop a VM without notice',
    load: async () => (await import('#cli/commands/admin.ts')).adminHostError,
  },
  {
    name: 'admin stockout',
    summary: 'Simulate a stockout of a zone, or end it with --clear',
    load: async () => (await import('#cli/commands/admin.ts')).adminStockout,
  },
  {
    name: 'admin outage',
    summary: 'Make a zone unreachable for the control plane, or end it with --clear',
    load: async () => (await import('#cli/commands/admin.ts')).adminOutage,
  },
  {
    name: 'custom-jobs create',
    section: 'Jobs, by the commands of Vertex AI:',
    summary: 'Submit a training job with the flags of Vertex AI',
    load: async () => (await import('#cli/commands/jobs-submit.ts')).customJobsCreate,
  },
  sameAsJobs('custom-jobs', 'list'),
  sameAsJobs('custom-jobs', 'describe'),
  sameAsJobs('custom-jobs', 'stream-logs'),
  sameAsJobs('custom-jobs', 'cancel'),
  {
    name: 'hp-tuning-jobs create',
    summary: 'Submit a tuning job with the flags of Vertex AI',
    load: async () => (await import('#cli/commands/hp-tuning-jobs.ts')).hpTuningJobsCreate,
  },
  {
    name: 'hp-tuning-jobs list',
    summary: 'List tuning jobs, newest first',
    load: async () => (await import('#cli/commands/hp-tuning-jobs.ts')).hpTuningJobsList,
  },
  {
    name: 'hp-tuning-jobs describe',
    summary: 'Show the best values, progress and cost of a tuning job',
    load: async () => (await import('#cli/commands/hp-tuning-jobs.ts')).hpTuningJobsDescribe,
  },
  sameAsJobs('hp-tuning-jobs', 'stream-logs'),
  sameAsJobs('hp-tuning-jobs', 'cancel'),
  {
    name: 'version',
    section: 'This program:',
    summary: 'Print the versions of this program and of Node.js',
    load: async () => (await import('#cli/commands/version.ts')).version,
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
