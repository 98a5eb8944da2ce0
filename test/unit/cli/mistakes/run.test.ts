import { gzipSync } from 'node:zlib';
import { describeMistakes, type Mistake } from '../../../support/cli/mistakes.ts';
import { TRAINER, tarGzOf } from '../../../support/package/build-archives.ts';

const DATE = '2026-11-21T06:00:00Z';
const WANDB_KEY = '0a1b2c3d4e'.repeat(4);
const TOKEN = 's3cr3tv4lu3abc';

/** `dropforge run` with these arguments, in a folder with a program. */
function run(typed: string, code: number, ...says: readonly (string | RegExp)[]): Mistake {
  return { typed: `run ${typed}`, code, says, files: { 'train.py': 'print(1)\n' } };
}

const withFiles = (mistake: Mistake, files: Readonly<Record<string, string | Uint8Array>>): Mistake => ({
  ...mistake,
  files,
});

describeMistakes('what is run', [
  run('train', 2, 'train does not exist', 'Did you mean "train.py"?'),
  run('trian.py', 2, 'trian.py does not exist', 'Did you mean "train.py"?'),
  run('trainer.task', 2, 'trainer.task does not exist', 'Pass the folder'),
  run('https://github.com/pytorch/examples', 2, 'https://github.com/pytorch/examples is not on this machine', 'clone'),
  run('git@github.com:pytorch/examples.git', 2, 'examples.git is not on this machine', 'clone'),
  run('gs://jobs/mine.tar.gz', 2, 'gs://jobs/mine.tar.gz is not on this machine', '--packages'),
  withFiles(run('run.sh', 2, 'run.sh is a shell script', 'dropforge run train.py'), { 'run.sh': 'python train.py\n' }),
  withFiles(run('Dockerfile', 1, 'REFUSED'), { Dockerfile: 'FROM python:3.12\n' }),
  withFiles(run('mine.tar.gz --dry-run', 0, 'module: trainer.task', '--packages=mine.tar.gz', ' mine '), {
    'mine.tar.gz': tarGzOf(TRAINER),
  }),
  withFiles(run('mine.tar.gz', 2, 'several programs: a, b', 'run mine.tar.gz --module-name a'), {
    'mine.tar.gz': tarGzOf([
      { path: 'a.py', data: 'a = 1\n' },
      { path: 'b.py', data: 'b = 1\n' },
    ]),
  }),
  withFiles(run('mine.tar.gz', 2, 'mine.tar.gz has no Python program'), { 'mine.tar.gz': gzipSync('no archive') }),
  withFiles(run('scripts --dry-run', 0, 'module: "träin model.py"'), { 'scripts/träin model.py': 'print(1)\n' }),
  withFiles(run('two', 2, 'several programs: a, b'), { 'two/a.py': 'print(1)\n', 'two/b.py': 'print(1)\n' }),
]);

describeMistakes('arguments of the program', [
  run('--epochs 5 train.py', 2, /follow --: npx dropforge run train\.py -- --epochs 5\n/),
  run('--lr=0.1 --spot train.py', 2, /follow --: npx dropforge run train\.py --spot -- --lr=0\.1\n/),
  run('--verbose train.py', 2, /follow --: npx dropforge run train\.py -- --verbose\n/),
  run('python train.py', 2, /Python is started for you: npx dropforge run train\.py\n/),
  run('python3 train.py --epochs 5', 2, /: npx dropforge run train\.py -- --epochs 5\n/),
  run('train.py --dry-run -- python train.py', 0, '-- python train.py'),
  run('. --detached', 2, "unknown option '--detached'", 'Ctrl-C', 'npx dropforge run .'),
  run('. --machine n1-standard-8', 2, 'machine: n1-standard-8', 'job file'),
  run('--config job.yaml', 2, 'The job file is the operand', 'dropforge run job.yaml'),
  run('. -m trainer.task', 2, 'dropforge run . --module-name trainer.task'),
  run('. --image python:3.12', 2, "unknown option '--image'", 'image: python:3.12', 'job file'),
]);

describeMistakes('flags of run', [
  run('train.py --gpu T4x2 --dry-run', 0, '2 × nvidia-tesla-t4'),
  run('train.py --gpu 2 --dry-run', 1, '"2" is not a GPU type', 'NVIDIA_TESLA_T4'),
  run('train.py --gpu RTX4090', 1, 'RTX4090', 'L4'),
  run('train.py --gpu H100 --dry-run', 1, '--spot'),
  run('train.py --gpu', 2, '--gpu', 'argument missing'),
  run('train.py --max-runtime 2', 2, '--max-runtime 2', '2h'),
  run('train.py --env LR', 2, '--env LR', 'KEY=VALUE'),
  run('train.py --env A=1 B=2', 2, 'too many arguments', 'npx dropforge run train.py --env A=1 -- B=2'),
  run('train.py --spot=true', 2, '--spot'),
  { ...run(`. --env WANDB_API_KEY=${WANDB_KEY}`, 2, '--set-secrets=WANDB_API_KEY=SECRET'), hides: [WANDB_KEY] },
  { ...run(`train.py --env MY_API_TOKEN=${TOKEN}`, 2, '--set-secrets=MY_API_TOKEN=SECRET'), hides: [TOKEN] },
  run('train.py --env PAD_TOKEN=eos --env CACHE_KEY=./cache1234567 --dry-run', 0, 'PAD_TOKEN=eos'),
]);

describeMistakes('init, logs, completion, version and deploy files', [
  { typed: 'init tensorflow', code: 2, says: ['no template tensorflow', 'python or pytorch'] },
  { typed: 'init my_model', code: 2, says: ['no template my_model', 'init python my_model'] },
  { typed: 'init', code: 1, says: ['is not empty, and nothing was written', 'init python my_model'] },
  { typed: 'init python trainer', code: 1, says: ['trainer is not empty', 'run trainer'] },
  { typed: 'init PyTorch new', code: 2, says: ['no template PyTorch', 'pytorch'] },
  { typed: 'logs nope', code: 1, says: ['There is no such job'] },
  { typed: 'logs digits -n 3', code: 2, says: ["unknown option '-n'", 'logs digits --tail 3'] },
  { typed: 'logs digits -f', code: 2, says: ["unknown option '-f'", 'Leave it out'] },
  { typed: 'logs digits --tail all', code: 2, says: ['--tail', 'whole number'] },
  { typed: 'logs digits --since yesterday', code: 2, says: ["'yesterday'", '10m'] },
  { typed: `logs digits --since ${DATE}`, code: 0, says: ['SUCCEEDED'] },
  { typed: 'completion', code: 2, says: ['SHELL'] },
  { typed: 'completion tcsh', code: 2, says: ['tcsh', 'bash, zsh'] },
  { typed: 'version --deployment x.json', code: 2, says: ['--deployment has no effect'] },
  { typed: 'version jobs', code: 2, says: ['too many arguments'] },
  { typed: '-V', code: 2, says: ['--version'] },
  { typed: 'deploy', code: 2, says: ['files'] },
  { typed: 'deploy files', code: 2, says: ['DIR'] },
  { typed: 'deploy files one two', code: 2, says: ['too many arguments'] },
  { typed: 'deploy file one', code: 2, says: ["unknown command 'file'", 'deploy files'] },
]);
