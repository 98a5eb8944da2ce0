import type { Command } from '#cli/core/command.ts';

/** A command by its name; the rest is loaded when it is called, so that the help is there at once. */
export type CommandEntry = {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<Command>;
};

/** Every command there is, in the order of the help. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'demo',
    summary: 'Train examples/digits from nothing to a model on this machine',
    load: async () => (await import('#cli/commands/demo/demo.ts')).demo,
  },
  {
    name: 'up',
    summary: 'Run the embedded cloud until Ctrl-C',
    load: async () => (await import('#cli/commands/up.ts')).up,
  },
  {
    name: 'status',
    summary: 'Show where the cloud is and what runs in it',
    load: async () => (await import('#cli/commands/status.ts')).status,
  },
  {
    name: 'env',
    summary: 'Print the variables that point gcloud and client libraries at the embedded cloud',
    load: async () => (await import('#cli/commands/env.ts')).env,
  },
  {
    name: 'jobs submit training',
    summary: 'Package, upload and submit a training program',
    load: async () => (await import('#cli/commands/jobs-submit.ts')).jobsSubmitTraining,
  },
  {
    name: 'custom-jobs create',
    summary: 'The same in the words of Vertex AI',
    load: async () => (await import('#cli/commands/jobs-submit.ts')).customJobsCreate,
  },
  {
    name: 'jobs validate',
    summary: 'Check job files without submitting them',
    load: async () => (await import('#cli/commands/jobs-validate.ts')).jobsValidate,
  },
  {
    name: 'jobs list',
    summary: 'List jobs, the newest first',
    load: async () => (await import('#cli/commands/jobs-list.ts')).jobsList,
  },
  {
    name: 'jobs describe',
    summary: 'Show all about a job: state, cause, attempts, replicas, price',
    load: async () => (await import('#cli/commands/jobs-describe.ts')).jobsDescribe,
  },
  {
    name: 'jobs stream-logs',
    summary: 'Print what a job has logged and go on until it ends',
    load: async () => (await import('#cli/commands/jobs-stream-logs.ts')).jobsStreamLogs,
  },
  {
    name: 'jobs wait',
    summary: 'Wait until a job has ended',
    load: async () => (await import('#cli/commands/jobs-wait.ts')).jobsWait,
  },
  {
    name: 'jobs cancel',
    summary: 'Cancel jobs',
    load: async () => (await import('#cli/commands/jobs-cancel.ts')).jobsCancel,
  },
  {
    name: 'custom-jobs list',
    summary: 'The same as jobs list',
    load: async () => (await import('#cli/commands/jobs-list.ts')).jobsList,
  },
  {
    name: 'custom-jobs describe',
    summary: 'The same as jobs describe',
    load: async () => (await import('#cli/commands/jobs-describe.ts')).jobsDescribe,
  },
  {
    name: 'custom-jobs stream-logs',
    summary: 'The same as jobs stream-logs',
    load: async () => (await import('#cli/commands/jobs-stream-logs.ts')).jobsStreamLogs,
  },
  {
    name: 'custom-jobs cancel',
    summary: 'The same as jobs cancel',
    load: async () => (await import('#cli/commands/jobs-cancel.ts')).jobsCancel,
  },
  {
    name: 'ls',
    summary: 'List buckets or objects',
    load: async () => (await import('#cli/commands/ls.ts')).ls,
  },
  {
    name: 'cp',
    summary: 'Copy files to and from buckets',
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
    name: 'secrets create',
    summary: 'Store a secret for jobs of the embedded cloud',
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
    summary: 'Take a Spot VM away, with the notice that Compute Engine gives',
    load: async () => (await import('#cli/commands/admin.ts')).adminPreempt,
  },
  {
    name: 'admin reset',
    summary: 'Pull the plug of a VM; it boots again from its disk',
    load: async () => (await import('#cli/commands/admin.ts')).adminReset,
  },
  {
    name: 'admin host-error',
    summary: 'Let the host of a VM fail without notice',
    load: async () => (await import('#cli/commands/admin.ts')).adminHostError,
  },
  {
    name: 'admin stockout',
    summary: 'Let a zone be out of capacity, or end it with --clear',
    load: async () => (await import('#cli/commands/admin.ts')).adminStockout,
  },
];
