/** Names with `|` between them, and the sentence that says what to use instead. */
type Row = readonly [names: string, sentence: string];

/** Paths of a job file's fields and of the API; below a job as `/v1/jobs/JOB/profiles`, otherwise the first three parts. */
const PATHS: readonly Row[] = [
  ['up --config deadManSeconds', 'Write `controlPlaneTimeoutSeconds`.'],
  ['up --config access', 'Run one embedded cloud for each group: callers of one share all jobs.'],
  ['/v1/jobs/JOB/profiles', 'Use `dropforge exec JOB -- py-spy record …` (docs/shell.md).'],
  ['/api/2.0/mlflow', 'Copy the job directory and start `mlflow ui` on it (docs/trackers.md).'],
];

/** Commands. The user's operands and flags take the place of `{JOB}`. */
const COMMANDS: readonly Row[] = [
  ['profile', 'Use `dropforge exec {JOB} -- py-spy record …` (docs/shell.md).'],
  ['images|image|build|push', 'Use `docker build` or `gcloud builds submit` (docs/containers.md has an example).'],
  ['launch|apply|create|train|start-job|create-training-job|deploy', 'Use `dropforge run {FOLDER}`.'],
  ['submit', 'Use `dropforge run {FOLDER}`, or `dropforge jobs submit training` with the flags of gcloud.'],
  ['jobs submit prediction', 'Dropforge trains models and does not serve them: run the model in a program.'],
  ['jobs submit', 'Use `dropforge jobs submit training {JOB}`.'],
  ['queue|ps|list-jobs|list-pods|list-training-jobs|top', 'Use `dropforge jobs list`.'],
  ['get', 'Use `dropforge jobs list`, or `dropforge jobs describe {JOB}` for one job.'],
  ['cost-report|billing|cost|costs', 'Use `dropforge jobs list --sort-by=~cost`, which shows the price of each job.'],
  ['get-job|describe-training-job|inspect|events|history', 'Use `dropforge jobs describe {JOB}`.'],
  ['stop|down|delete|kill|stop-training-job|cancel-job', 'Use `dropforge jobs cancel {JOB}`; its files are kept.'],
  ['get-log|get-logs|tail|attach|follow', 'Use `dropforge logs {JOB}`.'],
  ['shell|connect|debug|port-forward', 'Use `dropforge ssh {JOB}`.'],
  ['start|restart|resume|retry|rerun', 'A job runs once: submit its program again with `dropforge run FOLDER`.'],
  ['autostop|autodown', 'VMs are deleted when their job ends: `maxRuntime` in the job file is the latest time.'],
  ['serve|predict|endpoint|models|versions', 'Dropforge does not serve models: `dropforge cp -r {JOB_DIR} outputs/`.'],
  ['show-gpus|gpus|get-clusters|nodes', 'Use `dropforge jobs validate {JOB_FILE}`: it prints GPUs and price.'],
  ['storage|gsutil|volume', 'Use `dropforge {ls}`.'],
  ['secret', 'Use `dropforge secrets {list}`.'],
  ['check|auth|login|setup|config|token|info|cluster-info', 'Use `dropforge status`: it names the cloud in use.'],
  ['tune|sweep|create-hyper-parameter-tuning-job', 'Use `dropforge hp-tuning-jobs create --config {JOB_FILE}`.'],
  ['local|local-run', 'Start `dropforge up` in another terminal, then use `dropforge run {FOLDER}`.'],
  ['jobs ls', 'Use `dropforge jobs list`.'],
  [
    'download|fetch|pull|outputs',
    'Use `dropforge cp -r JOB_DIR outputs/`; `dropforge jobs describe {JOB}` names JOB_DIR.',
  ],
  ['rsync|mv', 'Use `dropforge cp -r {gs://BUCKET/FOLDER outputs/}`.'],
  ['open|ui|web', 'Use `dropforge dashboard --open`.'],
];

/**
 * Flags, after the command if it is of one. The whole command line takes the place of `{…}`, with what is between the
 * braces instead of the flag, and the flag's value as VALUE. The first row applies whose flags the command has.
 */
const FLAGS: readonly Row[] = [
  ['tensorboard --dir', 'Use `dropforge cp -r JOB_DIR FOLDER`.'],
  ['tensorboard --port', 'Append it to the command that is printed, as a flag of TensorBoard.'],
  ['apply -f|apply --filename|create -f', 'The file is an operand: `{VALUE}`.'],
  ['--gpus|--accelerators|--gpu-type|--accelerator-type', 'Use `{--gpu VALUE}`.'],
  ['--accelerator', 'Use `{--master-accelerator VALUE}`.'],
  ['--accelerator-count|--num-gpus|--gpu-count', 'Write the number after the type of GPU: `{--gpu T4:VALUE}`.'],
  ['--use-spot|--preemptible|--use-spot-instances', 'Use `{--spot}`.'],
  ['--machine-type|--instance-type|-t', 'Use `{--master-machine-type VALUE --scale-tier custom}`.'],
  ['--machine-type|--instance-type|-t', 'Write `machine: TYPE` into the job file, with a type of Compute Engine.'],
  ['--cpus|--memory|--mem', 'Write `machine: TYPE` into the job file, such as n1-highmem-8.'],
  ['--num-nodes|--instance-count|--node-count|--replica-count', 'Write `workers: N` into the job file.'],
  ['--zone', 'Use `--region REGION`: the zone of the region is chosen by capacity.'],
  ['--cloud|--infra|--context|--cluster', 'Use `--deployment FILE` for Google Cloud, nothing for this machine.'],
  ['--workdir|--source-dir|--entry-point|--entry-script', 'Use `{--package-path VALUE}`.'],
  ['--image|--image-uri|--container-image-uri', 'Use `{--master-image-uri VALUE}`.'],
  ['run --machine', 'Write `machine: VALUE` into the job file.'],
  ['run --config', 'The job file is the operand: `dropforge run VALUE`.'],
  ['run -m|run --module', 'Use `{--module-name VALUE}`.'],
  ['run --image|run --image-uri|run --container-image-uri', 'Write `image: VALUE` into the job file.'],
  ['--timeout|--time|--max-run', 'Use `{--max-runtime VALUE}`.'],
  ['-e|--environment', 'Use `{--env VALUE}`.'],
  [
    'secrets create --value|secrets create --from-literal',
    'Use `--data-file=FILE`, or `--data-file=-` for standard input.',
  ],
  ['--secret', 'Use `{--set-secrets VALUE}`.'],
  ['--output-dir|--output-path|--base-output-dir', 'Use `{--job-dir VALUE}`.'],
  ['--hyper-parameters|--script-args', 'Arguments of the program follow `--`: dropforge run FOLDER -- --epochs 5.'],
  ['-n|-c|--cluster|--job-name|--training-job-name', 'Use `{--name VALUE}`.'],
  ['--job-name|--training-job-name', 'The job is an operand: `{VALUE}`.'],
  ['logs -n|stream-logs -n', 'For the last lines, use `{--tail VALUE}`; there are no namespaces.'],
  ['-n|--namespace', 'There is no namespace VALUE: `{}`.'],
  ['-o wide|--output wide', 'Everything is shown without VALUE: `{}`.'],
  ['-o|--output', 'Use `{--format VALUE}`.'],
  ['--json', 'Use `{--format json}`.'],
  ['-l|--selector', 'Use `{--filter labels.VALUE}`.'],
  ['--state|--status', 'Use `{--filter state=VALUE}`.'],
  ['-f|--filename|--file', 'Use `{--config VALUE}`.'],
  ['-f|--follow|--wait', 'Use `{--stream-logs}`.'],
  ['-f|-w|--follow|--watch|-y|--yes|--force|-A|--all-namespaces|-it|-i|--tty|--stdin|-u', 'Leave it out: `{}`.'],
  [
    'run -d|run --detach|run --detached|run --async|launch -d|launch --detach-run',
    'Press Ctrl-C to detach, the job goes on: `{}`.',
  ],
  ['-d|--detach|--detach-run|--no-follow', 'Use `{--async}`.'],
  ['--pod|--container|--rank|--replica', 'Use `{--task-name VALUE}`.'],
  ['--pod|--container|--rank|--task-name', 'Use `{--replica VALUE}`.'],
];

const SENTENCES = new Map<string, string[]>();
for (const [prefix, rows] of [['', PATHS] as const, ['dropforge ', COMMANDS] as const, ['', FLAGS] as const]) {
  for (const [names, sentence] of rows) {
    for (const name of names.split('|').map((one) => `${prefix}${one}`)) {
      SENTENCES.set(name, [...(SENTENCES.get(name) ?? []), sentence]);
    }
  }
}

/**
 * Returns sentences that say what to use instead of a name that earlier versions or other tools have (gcloud, SkyPilot,
 * kubectl, SageMaker, Modal): of a command (`dropforge launch`), a flag (`--gpus`, `tensorboard --dir`) or a path.
 */
export function findReplacements(name: string): readonly string[] {
  return SENTENCES.get(name) ?? [];
}
