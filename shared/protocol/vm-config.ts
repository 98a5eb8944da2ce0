import * as z from 'zod';
import { HEALTH_ACTIONS, HEALTH_FIELDS } from '#shared/domain/health.ts';
import { programOptionsSchema } from '#shared/domain/job-spec.ts';
import { packageLayoutSchema } from '#shared/domain/package-layout.ts';
import { ROLES } from '#shared/domain/replica-name.ts';
import type { Stated } from '#shared/domain/stated.ts';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';

/** The metadata attributes of Dropforge's VMs, in addition to `startup-script` and `shutdown-script`. */
export const METADATA_KEYS = { config: 'dropforge-config', agent: 'dropforge-agent' } as const;

const path = z.array(z.union([z.string(), z.int().min(0)])).min(1);

const gsUri = z.string().refine((uri) => parseGsUri(uri).bucket !== '');

const specSchema = z.object({
  projectId: z.string().min(1),
  jobId: z.string().min(1),
  attempt: z.int().min(1),
  role: z.enum(ROLES),
  index: z.int().min(0),
  /** The module that Python runs, in a container, too; empty for a command. */
  module: z.string(),
  /** Runs in the environment of the packages, instead of the module; empty for a module or a container. */
  command: z.array(z.string()),
  /** Empty if the program is a container, whose command line has them. */
  args: z.array(z.string()),
  /** Whether `--job-dir` is appended to the arguments if they do not contain it. */
  passesJobDir: z.boolean(),
  /** The user's variables. Values may refer to earlier ones, to secrets and to service variables as `$(NAME)`. */
  environment: z.record(z.string(), z.string()),
  /** The job directory, `gs://bucket/path` without a trailing slash. The local output directory is synced to it. */
  jobDir: gsUri,
  /** `TF_CONFIG`'s cluster: host:port lists by role, `chief` for the master. */
  cluster: z.record(z.string(), z.array(z.string())),
  /** The TrainingInput with snake_case keys, for the key `job` of `TF_CONFIG`. */
  trainingInput: z.record(z.string(), z.unknown()),
  /**
   * `CLUSTER_SPEC`'s addresses by worker pool, evaluators included, and its `job`, the CustomJobSpec with snake_case
   * keys; null for jobs in AI Platform's format, which have no worker pools.
   */
  clusterSpec: z
    .object({ cluster: z.record(z.string(), z.array(z.string())), job: z.record(z.string(), z.unknown()) })
    .nullable(),
  /** For a trial of a tuning, its id, and the metrics whose history is reported; null for other jobs. */
  trial: z.object({ trialId: z.string().min(1), metricIds: z.array(z.string().min(1)).min(1).max(20) }).nullable(),
});

const packageSchema = z.object({
  uri: gsUri,
  generation: z.string().regex(/^\d+$/),
  crc32c: z.string().min(1),
  sizeBytes: z.int().min(0),
  /** Null in jobs that v0.1.0 accepted: the agent finds the build file and the program (ADR 51). */
  layout: packageLayoutSchema.nullable(),
});

const containerSchema = z.object({
  /** `host/repository@sha256:…` */
  image: z.string().regex(/@sha256:[a-f0-9]{64}$/),
  /** The size of the download: all layers, compressed. */
  sizeBytes: z.int().min(0),
  /** The space that the image takes of a disk that has no other images, at least and as an estimate. */
  diskBytesMin: z.int().min(0),
  diskBytesEstimate: z.int().min(0),
  /** The whole command line; `--job-dir` may be appended. */
  argv: z.array(z.string()).min(1),
  /** The image's user; empty for root. */
  user: z.string(),
  /** The image's working directory; empty for `/`. */
  workingDirectory: z.string(),
  /** How the registry knows the VM: not at all, by its service account's token, or by a secret. */
  credentials: z.enum(['NONE', 'GOOGLE', 'SECRET']),
  /** With SECRET, `projects/P/secrets/S/versions/V`, whose payload is `user:password`; else null. */
  credentialsSecret: z.string().nullable(),
});

const limitsSchema = z.object({
  /** The remainder of the job's maxRunningTime when the program starts. */
  maxRunningSeconds: z.number().positive(),
  /**
   * How long after its start the agent retries errors of Google's services, before it reports SERVICE_UNREACHABLE.
   */
  setupSeconds: z.number().positive(),
  /** Time between SIGTERM and SIGKILL when the program is stopped. */
  stopGraceSeconds: z.number().positive(),
  /** The part of the notice of a shutdown that is reserved for the final save and the report. */
  finalSaveSeconds: z.number().positive(),
  /**
   * In a cluster, how long the attempt before, whose program ran, may still save its outputs before this one claims
   * the job directory; 0 if none can.
   */
  earlierSaveSeconds: z.number().min(0),
  /** Time between the preemption notice and the VM's shutdown. The program may use all but the final save's share. */
  preemptionNoticeSeconds: z.number().positive(),
  /** The VM shuts down if the control plane does not respond for this long. */
  controlPlaneTimeoutSeconds: z.number().positive(),
  /** How long the upload of outputs is retried after the program has exited by itself. */
  uploadSeconds: z.number().positive(),
  /** How long the VM stays after its program has failed, if the control plane says so; 0 for not at all. */
  keepOnFailureSeconds: z.number().min(0),
  /** Usage of the work disk, including outputs, at which the program is stopped. */
  diskBytesMax: z.int().positive(),
  /**
   * The setting that raises `diskBytesMax`: the job file's size of the boot disk, or the configuration of the embedded
   * cloud.
   */
  diskSetting: z.enum(['bootDiskSizeGb', 'diskBytesMax']),
  /** Output of a stream that is logged. Further output is counted, and is in the complete log in the job directory. */
  logBytesMax: z.int().positive(),
});

/**
 * The agent's configuration: the JSON value of the metadata attribute `dropforge-config`. Every process on the VM can
 * read it, so it contains no secrets. Units are in the names. It is written together with the agent, which reads
 * exactly these fields as its types in vm_agent/control/config.py: none is optional.
 */
export const vmConfigSchema = z.object({
  /** Which replica of which job the VM runs, and its program. */
  spec: specSchema,
  endpoints: z.object({
    /** POST a heartbeat here, with an identity token for `heartbeatAudience`. */
    heartbeatUrl: z.url(),
    heartbeatAudience: z.string().min(1),
    /** URL of the Cloud Storage JSON API, without a trailing slash: `https://storage.googleapis.com`. */
    storageUrl: z.url(),
    /** URL of the Cloud Logging API: `https://logging.googleapis.com`. */
    loggingUrl: z.url(),
    /** URL of the Secret Manager API: `https://secretmanager.googleapis.com`. */
    secretManagerUrl: z.url(),
  }),
  /** By environment variable, the resource name of the secret version whose payload the agent sets it to. */
  secrets: z.record(z.string(), z.string().regex(/^projects\/[^/]+\/secrets\/[^/]+\/versions\/[^/]+$/)),
  packages: z.array(packageSchema),
  /** The container that the VM runs instead of the module; null for a Python program. */
  container: containerSchema.nullable(),
  options: programOptionsSchema.required().omit({ environmentCache: true }).extend({
    /** Null: only what is surely a metric is read from the log. */
    metricsFromOutput: z.boolean().nullable(),
  }),
  /**
   * Replicas of the job, including evaluators. If more than one, programs do not start while heartbeats return WAIT.
   */
  replicaCount: z.int().min(1),
  /**
   * `host:port` at which the agent of the master listens for those of the other replicas, and `role-index` of every
   * replica, the master first, including evaluators; null for a job with one replica.
   */
  peers: z.object({ address: z.string().min(1), replicas: z.array(z.string()).min(2) }).nullable(),
  /** GPUs that the driver must have before the program starts; 0 if that is not checked. */
  gpuCount: z.int().min(0).max(16),
  limits: limitsSchema,
  intervals: z.object({
    heartbeatSeconds: z.number().positive(),
    syncSeconds: z.number().positive(),
    logSeconds: z.number().positive(),
  }),
  /** Where installed packages are kept for later starts; null if they are installed at every start. */
  cachedEnvironments: z
    .object({
      uri: gsUri,
      /** How long an environment is used: unpinned requirements keep their versions until then. */
      ageSecondsMax: z.number().positive(),
      /** Larger environments are not stored. */
      entryBytesMax: z.int().positive(),
    })
    .nullable(),
  /** Sentences about the package that are logged before the program starts. */
  notes: z.array(z.string()),
  /** The consequences of findings on this VM, as the job and its replica's role decide. */
  health: z.object({
    actions: z.record(z.enum(Object.values(HEALTH_FIELDS).map(({ code }) => code)), z.enum(HEALTH_ACTIONS)),
    /** Without any activity for this long, the program has stalled; null if that follows from its pace. */
    stalledAfterSeconds: z.number().positive().nullable(),
  }),
  /**
   * Lists of arguments that are empty at the path `at`, because their values stand at the path `of`, from the position
   * `start` to the position before `end`.
   */
  repeatedArguments: z.array(z.object({ at: path, of: path, start: z.int().min(0), end: z.int().min(1) })),
});

export type VmConfig = Stated<typeof vmConfigSchema>;
