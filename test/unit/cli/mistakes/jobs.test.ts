import { describeMistakes } from '../../../support/cli/mistakes.ts';

const SUBMIT = 'jobs submit training new --dry-run';
const PROGRAM = '--module-name trainer.task --package-path trainer';

describeMistakes('submissions', [
  { typed: 'jobs submit training', code: 2, says: ['job id is missing', '--config'] },
  {
    typed: 'jobs submit training my-job --module-name trainer.task --package-path trainer',
    code: 2,
    says: ['my-job', 'my_job'],
  },
  {
    typed: 'jobs submit training 2nd.run --module-name trainer.task --package-path trainer',
    code: 2,
    says: ['2nd.run', 'job_2nd_run'],
  },
  { typed: 'jobs submit training trainer', code: 1, says: ['module', '--module-name'] },
  { typed: 'jobs submit training new', code: 1, says: ['--module-name', '--package-path'] },
  { typed: 'jobs submit training job.yaml', code: 2, says: ['job.yaml', '--config'] },
  { typed: 'jobs submit training ./trainer', code: 2, says: ['./trainer', '--package-path'] },
  { typed: `${SUBMIT} --module-name trainer.task`, code: 1, says: ['--package-path'] },
  {
    typed: `${SUBMIT} --module-name trainer.tsk --package-path trainer`,
    code: 1,
    says: ['trainer.tsk', 'trainer.task'],
  },
  {
    typed: `${SUBMIT} --module-name "python trainer/task.py" --package-path trainer`,
    code: 1,
    says: ['python trainer/task.py', 'trainer.task'],
  },
  {
    typed: `${SUBMIT} --module-name trainer.task.py --package-path trainer`,
    code: 1,
    says: ['trainer.task.py', 'trainer.task'],
  },
  {
    typed: `${SUBMIT} --module-name trainer --package-path trainer`,
    code: 1,
    says: ['no module trainer', 'trainer.task'],
  },
  {
    typed: `${SUBMIT} --module-name trainer.task --package-path trainr`,
    code: 1,
    says: ['trainr', 'pass the folder of the Python package'],
  },
  {
    typed: `${SUBMIT} --module-name trainer.task --package-path trainer/task.py`,
    code: 1,
    says: ['trainer.task', 'task'],
  },
  {
    typed: `${SUBMIT} --module-name trainer.task --package-path empty`,
    code: 1,
    says: ['has no entries', 'Pack it again'],
    files: { 'empty/.gitkeep': '' },
  },
  { typed: `${SUBMIT} ${PROGRAM} --region us-central1-a`, code: 1, says: ['us-central1-a', 'zone', 'us-central1'] },
  { typed: `${SUBMIT} ${PROGRAM} --region uscentral1`, code: 1, says: ['uscentral1', 'us-central1'] },
  { typed: `${SUBMIT} ${PROGRAM} --scale-tier BASIC-GPU`, code: 0, says: ['nvidia-tesla-t4'] },
  { typed: `${SUBMIT} ${PROGRAM} --scale-tier gpu`, code: 2, says: ['gpu', 'basic-gpu'] },
  { typed: `${SUBMIT} ${PROGRAM} --scale-tier custom`, code: 1, says: ['--master-machine-type'] },
  { typed: `${SUBMIT} ${PROGRAM} --master-accelerator T4`, code: 2, says: ["'T4' is not KEY=VALUE", '--help'] },
  {
    typed: `${SUBMIT} ${PROGRAM} --master-accelerator type=nvidia-tesla-t4`,
    code: 1,
    says: ['requires the scale tier CUSTOM', 'Write scaleTier'],
  },
  {
    typed: `${SUBMIT} ${PROGRAM} --scale-tier custom --master-machine-type n1-standard-4 --master-accelerator type=nvidia-t4,count=1`,
    code: 1,
    says: ['NVIDIA_T4', 'Did you mean "NVIDIA_TESLA_T4"'],
  },
  { typed: `${SUBMIT} ${PROGRAM} --job-dir jobs/new`, code: 1, says: ['jobs/new', 'gs://jobs/new'] },
  { typed: `${SUBMIT} ${PROGRAM} --job-dir s3://jobs/new`, code: 1, says: ['s3://jobs/new', 'gs://'] },
  { typed: `jobs submit training new ${PROGRAM} --staging-bucket gs://jobs/staging`, code: 2, says: ['gs://jobs'] },
  { typed: `jobs submit training new ${PROGRAM} --staging-bucket nowhere`, code: 1, says: ['gs://nowhere', 'create'] },
  { typed: `${SUBMIT} ${PROGRAM} --labels owner`, code: 2, says: ['owner', 'KEY=VALUE'] },
  { typed: `${SUBMIT} ${PROGRAM} --labels Owner=Ann`, code: 1, says: ['Owner', 'lowercase'] },
  { typed: `${SUBMIT} --config missing.yaml`, code: 1, says: ['missing.yaml', '--config'] },
  { typed: `${SUBMIT} --config trainer`, code: 1, says: ['it is a folder', '--config'] },
  { typed: `${SUBMIT} --config job.yaml`, code: 1, says: ['packages', '--package-path'] },
  { typed: `jobs submit training new ${PROGRAM} --project other`, code: 2, says: ['other', 'test-project'] },
  { typed: `jobs submit training new ${PROGRAM} --async --stream-logs`, code: 2, says: ['mutually exclusive'] },
  { typed: `${SUBMIT} ${PROGRAM} --set-secrets HF_TOKEN`, code: 2, says: ["'HF_TOKEN' is not KEY=VALUE", '--help'] },
  {
    typed: 'custom-jobs create --display-name a --region us-central1 --worker-pool-spec machine_type=n1-standard-4',
    code: 2,
    says: ['machine_type', 'machine-type'],
  },
  {
    typed: 'custom-jobs create --display-name a --region us-central1 --worker-pool-spec=n1-standard-4',
    code: 2,
    says: ["'n1-standard-4' is not KEY=VALUE", '--help'],
  },
  { typed: 'custom-jobs create --region us-central1 --dry-run', code: 2, says: ['--display-name is missing'] },
]);

describeMistakes('jobs', [
  { typed: 'jobs describe digit', code: 1, says: ['There is no such job', 'digits'] },
  { typed: 'jobs describe Digits', code: 1, says: ['There is no such job', 'digits'] },
  { typed: 'jobs stream-logs digit', code: 1, says: ['There is no such job', 'digits'] },
  { typed: 'jobs wait digit', code: 1, says: ['There is no such job', 'digits'] },
  { typed: 'jobs describe', code: 2, says: ["missing required argument 'JOB'", 'jobs list'] },
  { typed: 'jobs cancel', code: 2, says: ["missing required argument 'JOB'"] },
  { typed: 'jobs cancel all', code: 1, says: ['There is no such job'] },
  { typed: 'jobs cancel --all', code: 2, says: ["unknown option '--all'"] },
  { typed: 'jobs describe digits digits_2', code: 2, says: ['too many arguments'] },
  { typed: 'jobs describe gs://jobs/digits', code: 1, says: ['There is no such job', 'Did you mean digits?'] },
  {
    typed: 'jobs describe projects/test-project/jobs/digits',
    code: 1,
    says: ['There is no such job', 'Did you mean digits?'],
  },
  { typed: 'jobs stream-logs digits --replica worker', code: 2, says: ['--task-name worker'] },
  { typed: 'exec digits ls', code: 2, says: ['too many arguments', '-- ls'] },
  { typed: 'jobs validate', code: 2, says: ["missing required argument 'FILE'"] },
  { typed: 'jobs validate job.yml', code: 1, says: ['job.yml', 'does not exist', 'job.yaml'] },
  { typed: 'jobs validate .', code: 0, says: ['job.yaml: valid', 'price'] },
  { typed: 'jobs validate trainer', code: 1, says: ['trainer', 'job.yaml'] },
  { typed: 'jobs validate trainer/task.py', code: 1, says: ['task.py', '--package'] },
  { typed: 'jobs validate job.yaml --package missing', code: 1, says: ['missing', '--package'] },
  {
    typed: 'jobs validate job.yaml --package trainer --ignore NOT_IN_IMAG',
    code: 2,
    says: ['NOT_IN_IMAG', 'NOT_IN_IMAGE'],
  },
]);

describeMistakes('faults of the embedded cloud', [
  { typed: 'admin preempt digits_2', code: 0, says: ['VM vm-1 is being preempted'] },
  { typed: 'admin reset digits_2', code: 0, says: ['VM vm-1 was reset'] },
  { typed: 'admin preempt digits', code: 1, says: ['No VM is called digits', 'status'] },
  { typed: 'admin preempt nothing', code: 1, says: ['nothing', 'status'] },
  { typed: 'admin stockout us-central1', code: 2, says: ['us-central1 is a region', 'us-central1-a'] },
  { typed: 'admin prempt vm-1', code: 2, says: ['preempt'] },
  { typed: 'admin kill vm-1', code: 2, says: ["unknown command 'kill'"] },
]);

describeMistakes('clouds', [
  { typed: 'jobs list --data-dir nowhere', code: 1, says: ['nowhere', 'up'] },
  { typed: 'jobs list --data-dir job.yaml', code: 1, says: ['job.yaml', 'is a file'] },
  { typed: 'jobs list --deployment job.yaml', code: 1, says: ['job.yaml', 'terraform'] },
  {
    typed: 'jobs list --deployment state.json',
    code: 1,
    says: ['state.json', 'terraform'],
    files: { 'state.json': '{"version": 4, "terraform_version": "1.9.0"}' },
  },
  {
    typed: 'jobs list --deployment key.json',
    code: 1,
    says: ['key.json', 'terraform'],
    files: { 'key.json': '{"type": "service_account"}' },
  },
  { typed: 'jobs list --deployment production', code: 1, says: ['production', 'terraform'] },
  { typed: 'up --deployment job.yaml', code: 2, says: ['--deployment has no effect on', 'up'] },
  { typed: 'up --config missing.yaml', code: 1, says: ['missing.yaml', '--config'] },
  { typed: 'up --port 8080', code: 2, says: ["'--port'", '--api-port'] },
  { typed: 'up --api-port http', code: 2, says: ['--api-port must be a whole number', 'http'] },
  { typed: 'up now', code: 2, says: ['too many arguments'] },
  { typed: 'down', code: 2, says: ["unknown command 'down'", 'jobs cancel JOB'] },
  { typed: 'stop', code: 2, says: ["unknown command 'stop'", 'jobs cancel'] },
  { typed: 'start', code: 2, says: ["unknown command 'start'", 'run FOLDER'] },
]);
