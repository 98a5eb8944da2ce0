import { z } from 'zod';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';
import { programOptionsSchema } from '#shared/protocol/program-options.ts';

/**
 * The version of the VM configuration and of heartbeats. A VM keeps the agent and the configuration that it was created
 * with, so that after an update of the deployment heartbeats of the version before still arrive: a new version is made
 * for a field that is renamed, removed or required from the sender. Version 2 renamed the limit `deadManSeconds`.
 */
export const PROTOCOL_VERSION = 2;

/** The versions that the heartbeat function and the agent accept: this one and the one before. */
export const SUPPORTED_PROTOCOLS = [PROTOCOL_VERSION - 1, PROTOCOL_VERSION] as const;

/** The metadata attributes that a VM of Dropforge carries besides `startup-script` and `shutdown-script`. */
export const METADATA_KEYS = { config: 'dropforge-config', agent: 'dropforge-agent' } as const;

const gsUri = z.string().refine((uri) => parseGsUri(uri).bucket !== '');

/**
 * Everything that the agent is told, as the JSON value of the metadata attribute `dropforge-config`. It holds no
 * secret: whatever runs on the VM can read it. Seconds and bytes, as the names say.
 */
export const vmConfigSchema = z.object({
  protocol: z.literal(PROTOCOL_VERSION),
  projectId: z.string().min(1),
  jobId: z.string().min(1),
  attempt: z.int().min(1),
  role: z.enum(['master', 'worker', 'ps', 'evaluator']),
  index: z.int().min(0),
  endpoints: z.object({
    /** POST a heartbeat here, with an identity token for `heartbeatAudience`. */
    heartbeatUrl: z.url(),
    heartbeatAudience: z.string().min(1),
    /** Where the Cloud Storage JSON API is, without a slash at the end: `https://storage.googleapis.com`. */
    storageUrl: z.url(),
    /** Where the Cloud Logging API is: `https://logging.googleapis.com`. */
    loggingUrl: z.url(),
    /** Where the Secret Manager API is: `https://secretmanager.googleapis.com`. */
    secretManagerUrl: z.url(),
  }),
  program: z.object({
    module: z.string().min(1),
    args: z.array(z.string()),
    /** Whether `--job-dir` is added to the arguments, unless it is among them. */
    passesJobDir: z.boolean(),
    /** The user's own variables; values may name earlier ones, secrets and the service's as `$(NAME)`. */
    environment: z.record(z.string(), z.string()),
    /** By environment variable, the version of a secret that the agent reads into it: never a value. */
    secrets: z.record(z.string(), z.string().regex(/^projects\/[^/]+\/secrets\/[^/]+\/versions\/[^/]+$/)),
    ...programOptionsSchema.shape,
    packages: z.array(
      z.object({
        uri: gsUri,
        generation: z.string().regex(/^\d+$/),
        crc32c: z.string().min(1),
        sizeBytes: z.int().min(0),
      }),
    ),
  }),
  /**
   * The job directory, `gs://bucket/path` without a slash at the end; the local output directory is kept in step with
   * it.
   */
  jobDir: gsUri,
  /**
   * `TF_CONFIG`'s cluster: host:port lists by role, `chief` for the master; empty for a single replica is allowed by
   * TF.
   */
  cluster: z.record(z.string(), z.array(z.string())),
  /** Of the whole job, evaluators included. With more than one, no program starts while the answers are WAIT. */
  replicaCount: z.int().min(1),
  /** The TrainingInput as a dictionary with snake_case keys, for `TF_CONFIG`'s `job`. */
  trainingInput: z.record(z.string(), z.unknown()),
  limits: z.object({
    /** What is left of the job's maxRunningTime when the program starts. */
    maxRunningSeconds: z.number().positive(),
    /** From the agent's start, for how long it meets trouble with Storage with patience before it gives the VM up. */
    setupSeconds: z.number().positive(),
    /** Between SIGTERM and SIGKILL when the program is told to stop. */
    stopGraceSeconds: z.number().positive(),
    /** Between the notice that this VM is preempted and its shutdown: the program's, but for the final save. */
    preemptionNoticeSeconds: z.number().positive(),
    /** Without a word from the control plane for so long, the VM powers itself off. */
    controlPlaneTimeoutSeconds: z.number().positive(),
    /** After a program that ended by itself: saving its outputs is tried again for so long, and then given up. */
    uploadSeconds: z.number().positive(),
    /** Bytes on the VM's work disk, output included, that end the program. */
    diskBytesMax: z.int().positive(),
    /** Output that is logged; what comes after is counted and dropped, but for the last lines. */
    logBytesMax: z.int().positive(),
  }),
  intervals: z.object({
    heartbeatSeconds: z.number().positive(),
    syncSeconds: z.number().positive(),
    logSeconds: z.number().positive(),
  }),
});

export type VmConfig = z.infer<typeof vmConfigSchema>;
