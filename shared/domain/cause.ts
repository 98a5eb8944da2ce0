import * as z from 'zod';
import {
  clip,
  clipLines,
  EVIDENCE_BYTES_MAX,
  MESSAGE_BYTES_MAX,
  OLD_MESSAGE_BYTES_MAX,
} from '#shared/domain/job-size.ts';
import { PERIMETER_REMEDY } from '#shared/domain/perimeter-denial.ts';
import type { Stated } from '#shared/domain/stated.ts';

/**
 * The remedies of all causes with which an attempt or a job can end, by the class that selects the retry policy
 * (docs/adr/0003-internal-status-and-public-state.md). Causes are separate from states: few states, many causes.
 */
const REMEDIES = {
  capacity: {
    STOCKOUT:
      'No zone had capacity for the machine in time. Raise scheduling.maxWaitTime, or choose another machine type or region.',
    WAITS_FOR_MACHINE:
      'No action needed: jobs start in the order in which they were submitted, as VMs of other jobs end.',
    CAPACITY_PENDING:
      'No action needed, and no machine is billed: the VM starts when capacity becomes available; otherwise the next zone is tried.',
    INTERRUPTED_REPEATEDLY:
      'Too many attempts in a row were interrupted before they had run for a minute. Choose another region, or on-demand instead of Spot VMs, and submit again.',
    GPU_FAILED_REPEATEDLY:
      'Three attempts in a row ended with a hardware fault of a GPU. Choose another zone or GPU and submit again; if the same program fails on all of them, read the marked line below.',
    MAX_WAIT_TIME_EXCEEDED:
      'The job did not start running within scheduling.maxWaitTime. Raise it, or choose another machine type or region.',
    UNUSED_VM_LIMIT_EXCEEDED:
      'VMs were created and deleted again too often, because others of the same job could not be created or did not start. Correct what the evidence names, or use fewer replicas, another machine type or another region, and submit again.',
  },
  rate: {
    RATE_LIMITED: 'No action needed: Compute Engine limited the rate of requests, and they are retried later.',
  },
  quota: {
    QUOTA_EXCEEDED:
      'Request a higher limit for the named quota, use fewer replicas or GPUs, or choose a machine type (or, for a regional quota, a region) that does not use it.',
  },
  interruption: {
    PREEMPTED: 'No action needed: the job resumes from its last checkpoint in a new attempt.',
    VM_TERMINATED:
      'No action needed: the VM stopped without an exit report from its agent, and a new attempt was started.',
    HEARTBEAT_LOST: 'No action needed: the VM stopped sending heartbeats, and a new attempt was started.',
    VM_BOOT_TIMED_OUT:
      'The VM never sent a heartbeat. Check that the machine image boots and that the VM can reach the heartbeat function.',
    CLUSTER_INCOMPLETE:
      'No action needed: the result of a partial cluster is discarded, and a new attempt was started with all replicas.',
    SERVICE_UNREACHABLE:
      'A new attempt was started. If this happens again, check that the VM can reach the service named in the evidence: Private Google Access, DNS, VPC Service Controls; NAT for hosts outside of Google.',
    GPU_FAILED: 'No action needed: the GPU had a hardware fault, and a new attempt was started on another VM.',
    STALL_RESTARTED: 'No action needed: the program had stalled, and a new attempt continues from its last checkpoint.',
    ROLLED_BACK:
      'No action needed: a loss was not a finite number, and a new attempt continues from the last checkpoint before that.',
  },
  configuration: {
    HOST_UNREACHABLE:
      'VMs reach Google’s services and not the named host. If they have no way out, add NAT (network = { nat = true } in Terraform), or take the image from Artifact Registry (remote_repositories fetch from other registries), and packages from the machine image, a container, or an index that VMs reach (pip.conf of the image). If they have one, check the host, DNS and firewall, and submit again.',
    IMAGE_PULL_FAILED:
      'The VM could not pull the image that was found when the job was submitted, so the program was not started. Do what the evidence names (restore the image, grant access to it, or correct its secret) and submit again.',
    CONTAINER_NOT_STARTED:
      'The container could not be started. Do what the message says: correct the command of the job or the image, or repair the container engine of the machine image, and submit again.',
    PACKAGE_UNREADABLE:
      'The package changed or disappeared after it was validated. Upload it again and submit under a new job id.',
    JOB_DIR_UNWRITABLE:
      'The VM cannot write where the job saves its results. Check that the bucket exists and grant the VM service account storage.objectAdmin on it.',
    CHECKPOINT_UNREADABLE:
      'The saved state of earlier attempts could not be restored, so the program was not started; nothing was changed. Grant the VM service account storage.objectAdmin, or restore the named object, and submit again. To start without the saved state, use another job directory.',
    DISK_TOO_SMALL:
      'What the VM needs before the program starts does not fit on its disk: the saved state of earlier attempts, which is unchanged in the job directory, or the image of the container, unpacked. Do what the message says (a larger bootDiskSizeGb; in the embedded cloud, a larger diskBytesMax or more free space), and submit again with the same job directory.',
    SECRET_UNAVAILABLE:
      'The VM could not read a secret that the job names. Add a version to it and grant the VM service account access, with the gcloud commands below; in the embedded cloud, use dropforge secrets create.',
    GPU_MISSING:
      'The driver of the VM does not have the GPUs that the job requested, so the program was not started. Choose a runtime whose image has a driver for this GPU, or have its image rebuilt.',
    PERIMETER_DENIED: PERIMETER_REMEDY,
    CONFIGURATION_REFUSED:
      'Compute Engine rejected the VM configuration. Correct what the message names and submit again.',
    BOOT_FAILED_REPEATEDLY:
      'Several VMs in a row never sent a heartbeat. Check the machine image, its network and the heartbeat function, then submit again.',
  },
  user: {
    PROGRAM_FAILED:
      'The program exited with an error. Read the last lines of its output below, fix the program and submit again.',
    PROGRAM_KILLED:
      'The program was terminated by a signal. If it was SIGKILL, it may have run out of memory: choose a machine type with more.',
    OUT_OF_MEMORY: 'The program ran out of memory. Choose a machine type with more memory, or reduce the batch size.',
    DISK_FULL:
      'The program filled the disk of the VM. Request a larger boot disk (in the embedded cloud, raise diskBytesMax), or write less data.',
    MODULE_NOT_FOUND:
      'A module that the program imports is neither installed nor in the package. Add it to install_requires or requirements.txt (of a container: install it in the image), include its file in the package, or choose a runtime that includes it.',
    IMPORT_FAILED:
      'A module is installed in a version that does not fit the program. Pin the version that the program was written for in install_requires or requirements.txt (of a container: install it in the image), or choose the runtime that includes it.',
    PROGRAM_NOT_FOUND:
      'The package was installed, but the module of the job is not in it. Correct module (pythonModule), or have the package contain it: find_packages() finds only folders with an __init__.py, and a wheel only what its setup lists.',
    MAX_RUNNING_TIME_EXCEEDED:
      'The job ran longer than its maxRuntime (AI Platform: scheduling.maxRunningTime, Vertex AI: scheduling.timeout). Raise it, or train for fewer steps. Saved outputs are in the job directory.',
    INSTALL_FAILED:
      'pip could not install the package on the VM. Fix the requirement that is named below and submit again.',
    SETUP_TIMED_OUT:
      'The VM was still downloading or installing when the setup timeout expired. Reduce the requirements, or choose a runtime that includes them.',
    REPLICA_NOT_STARTED:
      'The programs of other replicas timed out while one was still in its setup. Shorten the setup (a runtime or container that has the packages), or have the programs wait longer (init_process_group(timeout=…), torchrun --rdzv-conf=join_timeout=…), and submit again.',
    REPLICA_ENDED_EARLY:
      'The named program ended without an error while the others still needed it. Give every replica the same number of steps (equal shards of the data, or join() of DistributedDataParallel), have all wait for each other before they end (torch.distributed.barrier()), and submit again.',
    METRIC_NOT_REPORTED:
      'The programs of the trials ended without reporting the metric that the tuning optimizes. Correct its name (hyperparameterMetricTag, metricId), or have the program report it: with cloudml-hypertune, a TensorFlow summary, or one JSON object a line on stdout.',
    METRIC_NOT_FINITE:
      'A loss or metric was not a finite number. Lower the learning rate, clip gradients and check the input data; of a tuning, narrow the ranges of the parameters that let the training diverge.',
    TRAINING_DIVERGED:
      'The loss rose far above its best value, and the job asked to end then. Lower the learning rate or clip gradients, and continue from a checkpoint that was saved before.',
    TRAINING_STALLED:
      'The program did nothing for a long time. The stack in the evidence shows what it waited for: often a lock, a data loader, or another process. Outputs are in the job directory.',
    METRIC_UNSAFE:
      'A safety metric was on the wrong side of its threshold. Narrow the ranges, or change safetyThreshold.',
    NO_TRIAL_SUCCEEDED:
      'The tuning ended without a result. Read the outcomes of its trials (dropforge trials), correct what they name and submit again.',
  },
  internal: {
    SUGGESTION_FAILED:
      'Dropforge could not choose values for the next trials. Report the evidence to the operator of the deployment. A new tuning can start from these trials: set resumePreviousJobId.',
    INTERNAL_ERROR:
      'Dropforge could not continue this job because of an internal error. Report the evidence to the operator of the deployment, and submit the job again under a new job id.',
  },
  cancel: {
    TRIAL_STOPPED: 'No action needed: the tuning stopped this trial before it had a result.',
    TRIAL_CANCELLED: 'No action needed: the tuning of this trial ended before it had a result.',
    CANCELLED_BY_USER: 'No action needed: the job was cancelled on request.',
  },
} as const;

export type CauseClass = keyof typeof REMEDIES;
export type CauseCode = { [Class in CauseClass]: keyof (typeof REMEDIES)[Class] }[CauseClass];

/** Every cause: its class, and the remedy that is shown to the user. */
export const CAUSES = Object.fromEntries(
  Object.entries(REMEDIES).flatMap(([causeClass, remedies]) =>
    Object.entries(remedies).map(([code, remedy]) => [code, { class: causeClass, remedy }]),
  ),
) as Readonly<Record<CauseCode, { readonly class: CauseClass; readonly remedy: string }>>;

/** The result of the rules of diagnosis (docs/diagnosis.md), which has a section per label. */
const diagnosisSchema = z.object({
  /** In lower case with underscores, such as `gpu_oom`. */
  label: z.string(),
  /** The advice, for this framework and with the numbers of this job. */
  remedy: z.string(),
  /** Whether the same job can succeed when it is started again. */
  canRetryHelp: z.boolean(),
  /** The line of the evidence from which the label follows; absent if it follows from the exit itself. */
  line: z.string().optional(),
});
export type Diagnosis = Stated<typeof diagnosisSchema>;

/** Why an attempt or a job ended: a code, one sentence, and the evidence. */
export const causeSchema = z.object({
  // A newer version may have written a code that is unknown here; its message and evidence are still valid.
  code: z.enum(Object.keys(CAUSES) as [CauseCode, ...CauseCode[]]).catch('INTERNAL_ERROR'),
  message: z.string(),
  /** At most EVIDENCE_LINES_MAX lines and EVIDENCE_BYTES_MAX bytes, newest last. */
  evidence: z.array(z.string()),
  /** The diagnosis that the evidence shows beyond the code; absent if no rule applies. */
  diagnosis: diagnosisSchema.optional(),
  /** The host outside of Google that a VM did not reach before its program ran. */
  unreachableHost: z.string().optional(),
});
export type Cause = Stated<typeof causeSchema>;

export const EVIDENCE_LINES_MAX = 40;

export function classOf({ code }: Pick<Cause, 'code'>): CauseClass {
  return CAUSES[code].class;
}

export function remedyOf(cause: Cause): string {
  return CAUSES[cause.code].remedy;
}

export function causeOf(code: CauseCode, message: string, evidence: readonly string[] = []): Cause {
  return {
    code,
    message: clip(message, MESSAGE_BYTES_MAX),
    evidence: clipLines(evidence.slice(-EVIDENCE_LINES_MAX), EVIDENCE_BYTES_MAX),
  };
}

/** The cause without evidence and with a shorter message, for older attempts. */
export function abridge({ code, message }: Cause): Cause {
  return { code, message: clip(message, OLD_MESSAGE_BYTES_MAX), evidence: [] };
}
