import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../../support/cli/test-cloud.ts';

const NOWHERE = join(tmpdir(), 'dropforge-nowhere');

/** Splits a command line at its spaces. */
const answerTo = async (line: string): Promise<string | undefined> => {
  const { code, stdout, stderr } = await runCli(line.split(' '));
  expect([code, stdout]).toEqual([2, '']);
  const answer = stderr.replaceAll('npx dropforge', 'dropforge').split('\n')[0];
  // The command that is named exists, with its flags; without a cloud, it does nothing.
  const [, named] = /`dropforge ([^`]+)`/.exec(answer ?? '') ?? [];
  const again = named === undefined ? '' : (await runCli(named.split(' '), { dataDir: NOWHERE, cwd: tmpdir() })).stderr;
  expect(again).not.toMatch(/unknown|has no effect/);
  return answer;
};

describe('a command of another tool or an earlier version', () => {
  it.each([
    ['profile digits', 'Use `dropforge exec digits -- py-spy record …` (docs/shell.md).'],
    ['images build . --tag=a:1', 'Use `docker build` or `gcloud builds submit` (docs/containers.md has an example).'],
    ['launch train.yaml', 'Use `dropforge run train.yaml`.'],
    [
      'launch -c mine --gpus T4:2 --use-spot train.yaml',
      'Use `dropforge run --name mine --gpu T4:2 --spot train.yaml`.',
    ],
    ['apply -f job.yaml', 'Use `dropforge run job.yaml`.'],
    ['create-training-job', 'Use `dropforge run FOLDER`.'],
    ['get pods', 'Use `dropforge jobs list`, or `dropforge jobs describe JOB` for one job.'],
    ['get job/digits', 'Use `dropforge jobs list`, or `dropforge jobs describe digits` for one job.'],
    ['delete job digits --force', 'Use `dropforge jobs cancel digits`; its files are kept.'],
    ['jobs delete digits', 'Use `dropforge jobs cancel digits`; its files are kept.'],
    ['stop-training-job --training-job-name digits', 'Use `dropforge jobs cancel digits`; its files are kept.'],
    ['queue', 'Use `dropforge jobs list`.'],
    ['jobs ls', 'Use `dropforge jobs list`.'],
    ['download digits', 'Use `dropforge cp -r JOB_DIR outputs/`; `dropforge jobs describe digits` names JOB_DIR.'],
    ['ps -a', 'Use `dropforge jobs list`.'],
    ['cost-report', 'Use `dropforge jobs list --sort-by=~cost`, which shows the price of each job.'],
    ['--deployment d.json queue', 'Use `dropforge --deployment d.json jobs list`.'],
    ['storage ls gs://a/b', 'Use `dropforge ls gs://a/b`.'],
    ['secret list', 'Use `dropforge secrets list`.'],
  ])('%s is answered with the command to type', async (line, sentence) => {
    const unknown = line.split(' ').find((word) => !['jobs', '--deployment', 'd.json'].includes(word));
    expect(await answerTo(line)).toBe(`error: unknown command '${unknown}'. ${sentence}`);
  });

  it.each([
    ['describe digits', 'jobs describe digits'],
    ['list', 'jobs list'],
    ['jobs metrics digits loss', 'metrics digits loss'],
    ['preempt vm-1', 'admin preempt vm-1'],
    [
      'jobs submit digits --config job.yaml -- --epochs 5',
      'jobs submit training digits --config job.yaml -- --epochs 5',
    ],
  ])('%s lacks its group, or has one too many', async (line, command) => {
    expect(await answerTo(line)).toContain(`. Use \`dropforge ${command}\`.`);
  });

  it.each([
    ['gcloud ai-platform jobs submit training a --region=x', 'jobs submit training a --region=x'],
    ['gcloud beta ml-engine jobs submit training a', 'jobs submit training a'],
    ['ai-platform jobs list', 'jobs list'],
    ['gcloud ai custom-jobs create --region=x --args=--lr=0.1', 'custom-jobs create --region=x --args=--lr=0.1'],
    ['gcloud ai hp-tuning-jobs create --config=a.yaml', 'hp-tuning-jobs create --config=a.yaml'],
    ['kubectl describe job/digits', 'jobs describe digits'],
    ['sky jobs queue', 'jobs list'],
    ['aws sagemaker list-training-jobs', 'jobs list'],
  ])('%s may be pasted as it is', async (line, command) => {
    expect(await answerTo(line)).toContain(`. Use \`dropforge ${command}\`.`);
  });

  it('gives way to the nearest command', async () => {
    expect((await runCli(['jobs', 'submit', 'trainig', 'a'])).stderr).toContain('(Did you mean jobs submit training?)');
  });
});

describe('a flag of another tool or an earlier version', () => {
  it.each([
    ['tensorboard a --dir b', 'Use `dropforge cp -r JOB_DIR FOLDER`.'],
    ['tensorboard a --port=6', 'Append it to the command that is printed, as a flag of TensorBoard.'],
    ['jobs list -o json', 'Use `dropforge jobs list --format json`.'],
    ['jobs list -o wide', 'Everything is shown without wide: `dropforge jobs list`.'],
    ['jobs list -n default', 'There is no namespace default: `dropforge jobs list`.'],
    ['jobs list -l team=vision', 'Use `dropforge jobs list --filter labels.team=vision`.'],
    ['jobs list --state RUNNING', 'Use `dropforge jobs list --filter state=RUNNING`.'],
    ['jobs stream-logs -f digits', 'Leave it out: `dropforge jobs stream-logs digits`.'],
    ['run . --detach', 'Press Ctrl-C to detach, the job goes on: `dropforge run .`.'],
    ['exec -it digits -- bash', 'Leave it out: `dropforge exec digits -- bash`.'],
    ['jobs submit training a --num-nodes 4', 'Write `workers: N` into the job file.'],
  ])('%s is answered with what to use instead', async (line, sentence) => {
    expect(await answerTo(line)).toMatch(/^error: unknown option '-.*'\. /);
    expect(await answerTo(line)).toContain(`'. ${sentence}`);
  });

  it('is answered with the whole command line, in which all of them are replaced', async () => {
    expect(await answerTo('jobs submit training a -f job.yaml --machine-type=n1-standard-8 --follow -- --n 5')).toBe(
      "error: unknown option '-f'. Use `dropforge jobs submit training a --config job.yaml " +
        '--master-machine-type n1-standard-8 --scale-tier custom --stream-logs -- --n 5`.',
    );
  });

  it('is not replaced by a flag that the command does not have', async () => {
    expect(await answerTo('custom-jobs create --instance-type=a')).toContain('Write `machine: TYPE` into the job file');
    expect(await answerTo('jobs list --image=a')).toBe("error: unknown option '--image'");
  });
});
