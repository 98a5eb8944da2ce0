import { JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';
import type { Role } from '#shared/domain/replica-name.ts';
import { KEEP_ON_FAILURE_MS_MAX, MAX_RUNNING_MS_MAX, MAX_WAIT_MS_MAX } from '#shared/job-file/draft/duration.ts';
import { masterOf } from '#shared/job-file/draft/job-draft.ts';
import { type FieldDocs, type JobField, programOption } from '#shared/job-file/fields/field.ts';
import { flag, integer, TEXT, text, textList, textMap } from '#shared/job-file/fields/kind.ts';
import { inJob, inMasterProgram, inPool, ofMaster } from '#shared/job-file/fields/targets.ts';
import { duration } from '#shared/job-file/formats/dropforge/durations.ts';
import { GPUS } from '#shared/job-file/formats/dropforge/gpus.ts';
import { HEALTH } from '#shared/job-file/formats/dropforge/health-fields.ts';
import { DISK, RESERVATION, readGroup, readMachine } from '#shared/job-file/formats/dropforge/machines.ts';
import { NOTIFY } from '#shared/job-file/formats/dropforge/notify-fields.ts';
import { OUTPUTS, WORKDIR_OUTPUTS } from '#shared/job-file/formats/dropforge/output-fields.ts';
import { ARGUMENTS, COMMAND, readFlexStart, readSpot } from '#shared/job-file/formats/dropforge/program.ts';
import { RIGHTS_FIELDS } from '#shared/job-file/formats/dropforge/rights-fields.ts';
import { RESUME_ARGUMENTS, WORKDIR } from '#shared/job-file/formats/dropforge/start-fields.ts';
import { readTune } from '#shared/job-file/tuning/read-tune.ts';

const OPTIONAL_SCALARS = { additionalProperties: { type: ['string', 'number', 'boolean', 'null'] } } as const;
const BOOLEAN = { type: 'boolean', schema: { type: 'boolean' } } as const;
const VERSION = { type: ['string', 'number'] } as const;

/** A limit of Dropforge: a program that has failed this often will fail again. */
const RETRIES_MAX = 100;

/**
 * The fields of Dropforge's own job file, one row each, in the order in which they are read and documented. Reader,
 * job.schema.json and the table in docs/job-file.md are made from these rows.
 * Fields that depend on others come after them: `machine` after `gpu`, groups after all fields of the first machine.
 */
export const JOB_FIELDS = {
  name: {
    ...inJob('jobId', text({ pattern: JOB_ID_PATTERN.source })),
    description: 'The job id: a letter, then letters, digits and underscores, at most 128 characters.',
    omitted: 'from the command or the upload',
    examples: ['first_run'],
    synonyms: ['jobId', 'displayName'],
    goesTo: { spec: 'jobId', vm: 'jobId' },
  },
  module: {
    ...inMasterProgram('pythonModule', text()),
    description:
      'The Python module to run, as after `python -m`, or the path of a script in the package: `src/train.py`. It may be one of a requirement: `torch.distributed.run`.',
    omitted: '–',
    examples: ['trainer.task'],
    synonyms: ['pythonModule'],
    goesTo: { spec: 'program.module', vm: 'config.spec.module' },
  },
  image: {
    ...inMasterProgram('imageUri', text()),
    description: 'A container image to run; a module and packages are mounted into it.',
    omitted: '–',
    examples: ['europe-west4-docker.pkg.dev/my-project/images/trainer:1'],
    synonyms: ['imageUri', 'masterImageUri', 'docker'],
    goesTo: { spec: 'program.imageUri', vm: null },
  },
  command: {
    ...inMasterProgram('command', COMMAND),
    description:
      'The command to run, in the folder and the environment of the packages: `[torchrun, --nproc_per_node=2, train.py]`. In a container, it replaces the entry point.',
    omitted: "the module, or the image's entry point",
    examples: [['torchrun', '--nproc_per_node=2', 'train.py']],
    synonyms: ['containerCommand'],
    goesTo: { spec: 'program.command', vm: 'config.spec.command' },
  },
  args: {
    ...inMasterProgram('args', ARGUMENTS),
    description:
      'The arguments of the program. In a mapping, `epochs: 10` becomes `--epochs=10`; `true` sets a flag without a value, `false` omits it.',
    omitted: 'none',
    examples: [{ epochs: 10, verbose: true }, ['--epochs', '10']],
    synonyms: ['containerArgs'],
    goesTo: { spec: 'program.args', vm: 'config.spec.args' },
  },
  resumeArguments: RESUME_ARGUMENTS,
  workdir: WORKDIR,
  packages: {
    ...inMasterProgram('packageUris', textList({ type: 'array', items: { type: 'string' } })),
    description:
      'Archives of the program, wheels, single `.py` files and `requirements.txt`: gs:// addresses, or paths relative to the job file.',
    omitted: 'the package that contains the job file',
    examples: [['dist/trainer-0.1.tar.gz']],
    synonyms: ['packageUris', 'packagePath'],
    goesTo: { spec: 'program.packageUris', vm: 'config.packages' },
  },
  env: {
    ...inMasterProgram('environment', textMap(OPTIONAL_SCALARS)),
    description: 'Environment variables of the program.',
    omitted: 'none',
    examples: [{ NCCL_DEBUG: 'INFO' }],
    synonyms: ['envs', 'environment'],
    goesTo: { spec: 'program.environment', vm: 'config.spec.environment' },
  },
  secrets: {
    ...inJob(
      'secrets',
      textMap({
        propertyNames: { pattern: '^[A-Za-z_][A-Za-z0-9_]*$' },
        additionalProperties: {
          type: 'string',
          pattern: '^(projects/[^/]+/secrets/)?[A-Za-z0-9_-]{1,255}((:|/versions/)[A-Za-z0-9_-]+)?$',
        },
      }),
    ),
    description:
      'Environment variables with secrets of Secret Manager: NAME, NAME:VERSION, or projects/P/secrets/NAME/versions/VERSION. Only VMs read the values.',
    omitted: 'none',
    examples: [{ WANDB_API_KEY: 'wandb-key', HF_TOKEN: 'hf-token:3' }],
    synonyms: ['secretEnv', 'dropforgeSecrets'],
    goesTo: { spec: 'secrets', vm: 'config.secrets' },
  },
  nice: programOption(
    'nice',
    integer(
      { min: 0, max: 19, default: 0 },
      { code: 'INVALID_NICE', remedy: 'Write 0 for the normal priority, or up to 19 for the lowest.' },
    ),
    {
      description: "The program's niceness: 19 is the lowest CPU priority. The agent keeps the normal priority.",
      omitted: '0',
      examples: [10],
      synonyms: ['niceness', 'renice'],
    },
  ),
  environmentCache: {
    ...programOption('environmentCache', flag({ default: true }), {
      description:
        'Whether the requirements may be packages that a job with the same requirements has installed within the last week; false installs them again.',
      omitted: 'true',
      examples: [false],
      synonyms: ['cache', 'packageCache'],
    }),
    goesTo: { spec: 'programOptions.environmentCache', vm: 'config.cachedEnvironments' },
  },
  metricsFromOutput: programOption('metricsFromOutput', flag(), {
    description:
      'Whether metrics are read from what the program prints (docs/trackers.md). By default, losses and scores at steps are, as series whose names begin with `log/`. `true` takes all that looks like a metric, under its own name, also as the metric of a tuning; `false` takes nothing.',
    omitted: 'losses and scores, as `log/NAME`',
    examples: [false],
    synonyms: ['metricsFromLog', 'parseOutput'],
  }),
  runtime: {
    ...inJob('runtimeVersion', text(VERSION)),
    description: 'The runtime version, which selects a machine image.',
    omitted: "the deployment's",
    examples: ['2.11'],
    synonyms: ['runtimeVersion'],
    goesTo: { spec: 'runtimeVersion', vm: 'config.spec.trainingInput.runtime_version' },
  },
  python: {
    ...inJob('pythonVersion', text(VERSION)),
    description: 'The Python version.',
    omitted: "the image's",
    examples: ['3.11'],
    synonyms: ['pythonVersion'],
    goesTo: { spec: 'pythonVersion', vm: 'config.spec.trainingInput.python_version' },
  },
  gpu: {
    ...ofMaster(inPool('accelerator', GPUS)),
    description: 'The GPUs of each machine: `T4`, `2 x T4` or `T4:2`; short names or the API’s, `NVIDIA_TESLA_T4`.',
    omitted: 'none',
    synonyms: ['gpus', 'accelerator', 'accelerators', 'acceleratorType', 'acceleratorCount', 'acceleratorConfig'],
    examples: ['T4', '2 x T4'],
    goesTo: { spec: 'replicaGroups.0.accelerator', vm: 'accelerator' },
  },
  machine: {
    ...ofMaster({ ...TEXT, read: readMachine }),
    description: "Compute Engine's machine type.",
    omitted: 'the smallest with these GPUs and 8 vCPUs; N1 with 8 vCPUs per GPU; without GPUs `n1-standard-4`',
    examples: ['n1-standard-16', 'g2-standard-8', 'a2-highgpu-1g'],
    synonyms: ['machineType', 'masterType', 'masterMachineType', 'instanceType'],
    goesTo: { spec: 'replicaGroups.0.machineType', vm: 'machineType' },
  },
  disk: {
    ...ofMaster(DISK),
    description:
      'The boot disk of each machine: GiB, or size and type (`pd-ssd`, `pd-standard`, `pd-balanced`, `hyperdisk-balanced`).',
    omitted: '100 GiB',
    examples: [200, { size: 200, type: 'pd-ssd' }],
    synonyms: ['diskSize', 'diskConfig', 'diskSpec', 'bootDiskSizeGb'],
    goesTo: { spec: 'replicaGroups.0.bootDiskGib', vm: 'bootDiskGib' },
  },
  reservation: {
    ...ofMaster(inPool('reservation', RESERVATION)),
    description: 'Reserved capacity: `any`, `none`, a full reservation name, or a list of names.',
    omitted: "Compute Engine's default",
    examples: ['none', ['projects/my-project/zones/europe-west4-a/reservations/gpus']],
    synonyms: ['reservationAffinity'],
    goesTo: { spec: 'replicaGroups.0.reservation', vm: 'reservation' },
  },
  workers: group('worker', 'workers', {
    description:
      'Further machines like the first: how many, or `count`, and what differs: `machine`, `gpu`, `disk`, `reservation`, `spot`, or their program.',
    synonyms: ['workerCount'],
  }),
  parameterServers: group('ps', 'parameterServers', {
    description: 'Parameter servers, like workers.',
    synonyms: ['parameterServerCount'],
  }),
  evaluators: group('evaluator', 'evaluators', {
    description: 'Evaluators, like workers.',
    synonyms: ['evaluatorCount'],
  }),
  spot: {
    ...BOOLEAN,
    description: 'Whether to use Spot VMs: much cheaper, but can be preempted; the job is then restarted.',
    omitted: '`false`',
    examples: [true],
    goesTo: { spec: 'provisioningModel', vm: 'provisioningModel' },
    read: readSpot,
  },
  flexStart: {
    ...BOOLEAN,
    description:
      'Whether to wait for machines with GPUs at Compute Engine, unbilled (Flex-start). All machines are identical, and can be used for seven days at most.',
    omitted: '`false`',
    examples: [true],
    goesTo: { spec: 'provisioningModel', vm: 'provisioningModel' },
    read: readFlexStart,
  },
  region: {
    ...inJob('region', text({ pattern: '^[a-z]+-[a-z]+[0-9]+$' })),
    description: 'The region of all machines.',
    omitted: "the deployment's",
    examples: ['us-central1', 'europe-west4', 'asia-east1'],
    goesTo: { spec: 'region', vm: 'config.spec.trainingInput.region' },
  },
  maxRuntime: {
    ...inJob('maxRunningTime', duration(MAX_RUNNING_MS_MAX)),
    description: 'How long the job may run, all attempts together; then it fails.',
    omitted: '7 days',
    examples: ['12h'],
    synonyms: ['maxRunningTime', 'maxDuration', 'timeout'],
    goesTo: { spec: 'limits.maxRunningMs', vm: 'config.limits.maxRunningSeconds' },
  },
  maxWait: {
    ...inJob('maxWaitTime', duration(MAX_WAIT_MS_MAX)),
    description: 'How long the job may wait for machines; then it fails.',
    omitted: '24 hours while it waits for a quota, otherwise it waits indefinitely',
    examples: ['2h'],
    synonyms: ['maxWaitTime', 'maxWaitDuration'],
    goesTo: { spec: 'limits.maxWaitMs', vm: 'config.spec.trainingInput.scheduling.max_wait_time' },
  },
  retries: {
    ...inJob(
      'restartsMax',
      integer(
        { min: 0, max: RETRIES_MAX, default: 0 },
        { code: 'INVALID_RESTARTS', remedy: 'Write how many times a failed program is restarted.' },
      ),
    ),
    description:
      'How often the program is restarted after it fails, unless its [diagnosis](diagnosis.md) says that a retry cannot help. Restarts after preemption do not count.',
    omitted: '0',
    examples: [2],
    synonyms: ['maxRetries', 'retry'],
    goesTo: { spec: 'limits.restartsMax', vm: null },
  },
  keepOnFailure: {
    ...inJob('keepOnFailure', duration(KEEP_ON_FAILURE_MS_MAX)),
    description:
      'How long the VM of a program that has failed is kept for a look (docs/shell.md), at most as long as the deployment allows. It is billed meanwhile. `0s` keeps none.',
    omitted: 'the VM is deleted at once',
    examples: ['30m'],
    synonyms: ['keepVmOnFailure', 'keepFailedVm'],
    goesTo: { spec: 'limits.keepOnFailureMs', vm: 'config.limits.keepOnFailureSeconds' },
  },
  health: HEALTH,
  output: {
    ...inJob('jobDir', text({ pattern: '^gs://' })),
    description: 'The job directory for models, checkpoints and logs: `gs://bucket/path`.',
    omitted: 'a new directory',
    examples: ['gs://my-bucket/runs/first'],
    synonyms: ['jobDir', 'baseOutputDirectory'],
    goesTo: { spec: 'jobDir', vm: 'config.spec.jobDir' },
  },
  outputs: OUTPUTS,
  workdirOutputs: WORKDIR_OUTPUTS,
  labels: {
    ...inJob('labels', textMap(OPTIONAL_SCALARS)),
    description:
      'Labels of the job and its machines, at most 56: lowercase letters, digits, `_` and `-`. `managed-by` and names that start with `dropforge` are reserved.',
    omitted: 'none',
    examples: [{ team: 'vision' }],
    goesTo: { spec: 'labels', vm: 'labels' },
  },
  ...RIGHTS_FIELDS,
  notify: NOTIFY,
  tune: {
    type: 'mapping',
    schema: { $ref: '#/$defs/tune' },
    description: 'Hyperparameter tuning: the job runs many trials.',
    omitted: 'a single training',
    examples: [{ metric: 'accuracy', parameters: { batch_size: [16, 32] } }],
    synonyms: ['hyperparameters', 'studySpec'],
    goesTo: { spec: 'study', vm: null },
    read: (draft, found, findings) => ({ ...draft, study: readTune(found, findings) }),
  },
} as const satisfies Readonly<Record<string, JobField>>;

function group(
  role: Exclude<Role, 'master'>,
  name: string,
  docs: Pick<FieldDocs, 'description' | 'synonyms'>,
): JobField {
  return {
    type: 'integer, or mapping',
    schema: { $ref: '#/$defs/group' },
    ...docs,
    omitted: 'none',
    examples: [3, { count: 3, machine: 'n1-highmem-8', spot: true }],
    goesTo: { spec: 'replicaGroups.1', vm: 'config.replicaCount' },
    read: (draft, found, findings) => {
      const first = { ...masterOf(draft), role, path: name };
      return { ...draft, pools: [...draft.pools, ...readGroup(found, first, findings)] };
    },
  };
}

/** Names of other formats and tools that stand for several fields, or for a field with a certain value. */
export const OTHER_SYNONYMS = {
  containerSpec: 'image, command and args',
  entrypoint: 'module, or image and command',
  run: 'module, or image and command',
  commands: 'module, or image and command',
  pythonPackageSpec: 'module, packages and args',
  masterConfig: 'gpu and disk',
  machineSpec: 'gpu and machine',
  resources: 'gpu, machine, disk, spot and region',
  scaleTier: 'machine or gpu',
  workerType: 'workers, with a count and a machine',
  workerConfig: 'workers, with a count, a machine and a gpu',
  numNodes: 'workers, one less than all machines',
  nodes: 'workers, one less than all machines',
  parameterServerType: 'parameterServers, with a count and a machine',
  evaluatorType: 'evaluators, with a count and a machine',
  scheduling: 'maxRuntime, maxWait, spot and flexStart',
  strategy: 'spot: true or flexStart: true',
  useSpot: 'spot: true',
  preemptible: 'spot: true',
  script: 'module',
  zone: 'region',
  spotPolicy: 'spot: true',
  bootDiskType: 'disk, with a size and a type',
} as const;
