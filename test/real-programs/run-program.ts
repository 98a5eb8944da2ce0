import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parseArgsStringToArgv } from 'string-argv';
import type { createUser } from '../support/e2e/cloud-under-test.ts';
import type { RealProgram } from './programs.ts';

const CLI = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));
const TAXI_DATA = fileURLToPath(new URL('taxi_data.py', import.meta.url));
const MNIST_DATA = fileURLToPath(new URL('mnist_data.py', import.meta.url));
const BEFORE_MS_MAX = 120_000;
const JOB_MS_MAX = 300_000;
const LAST_LINES_MAX = 30;
const TEXT_CHARACTERS_MAX = 160;

/** What the running cloud offers to a program. */
export type Stage = {
  readonly dataDir: string;
  readonly bucket: string;
  /** The interpreter of the machine image. */
  readonly python: string;
  readonly user: ReturnType<typeof createUser>;
};

export type Outcome = {
  readonly isExpected: boolean;
  readonly end: string;
  /** The last lines of the program's log. */
  readonly lastLines?: readonly string[];
};

type End = { readonly state: string; readonly text: string; readonly log: readonly string[] };

/** Submits a program as its README does, waits until it ends, and compares its end with the expected one. */
export async function runProgram(
  program: RealProgram,
  { jobId, folder }: { readonly jobId: string; readonly folder: string },
  stage: Stage,
): Promise<Outcome> {
  const fill = (text: string) =>
    text
      .replaceAll('IMAGE_PYTHON', stage.python)
      .replaceAll('TAXI_DATA', TAXI_DATA)
      .replaceAll('MNIST_DATA', MNIST_DATA)
      .replaceAll('DROPFORGE', `${process.execPath} ${CLI} --data-dir ${stage.dataDir}`)
      .replaceAll('BUCKET', stage.bucket)
      .replaceAll(/\bJOB\b/g, jobId);
  try {
    if (program.before !== undefined) {
      await promisify(execFile)('sh', ['-ec', fill(program.before)], { cwd: folder, timeout: BEFORE_MS_MAX });
    }
    const end = await submitAndWait(parseArgsStringToArgv(fill(program.submit)), folder, stage);
    return { ...compare(program, end), lastLines: end.log.slice(-LAST_LINES_MAX) };
  } catch (error) {
    return { isExpected: false, end: shorten(error instanceof Error ? error.message : String(error)) };
  }
}

async function submitAndWait(argv: readonly string[], cwd: string, { dataDir, user }: Stage): Promise<End> {
  const separator = argv.indexOf('--');
  const options = ['--data-dir', dataDir, '--format=json'];
  const words = separator < 0 ? [...argv, ...options] : argv.toSpliced(separator, 0, ...options);
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [CLI, ...words], { cwd }).catch(
    // With --stream-logs, the command also exits with an error if the job fails.
    (error: unknown) => error as { readonly stdout?: string; readonly stderr?: string },
  );
  const jobId = acceptedJobOf(stdout ?? '');
  if (jobId === undefined) {
    return { state: 'REJECTED', text: problemsOf(stdout ?? '') ?? `${stdout}${stderr}`, log: [] };
  }
  const { state, cause } = await user.awaitJob(jobId, undefined, JOB_MS_MAX);
  const text = cause === null ? '' : [cause.message, ...cause.evidence].join('\n');
  return { state: cause?.code ?? state, text, log: (await user.readLog(jobId)).map((entry) => entry.text) };
}

const firstLineOf = (text: string) => text.split('\n', 1)[0] ?? '';

/** With --stream-logs, the log follows the report. */
function acceptedJobOf(stdout: string): string | undefined {
  try {
    const { jobId, verdict } = JSON.parse(firstLineOf(stdout)) as { readonly jobId: string; readonly verdict: string };
    return verdict === 'ACCEPTED' ? jobId : undefined;
  } catch {
    return undefined;
  }
}

function problemsOf(stdout: string): string | undefined {
  try {
    const { problems } = JSON.parse(firstLineOf(stdout)) as { readonly problems: readonly { message: string }[] };
    return problems.map(({ message }) => message).join('\n');
  } catch {
    return undefined;
  }
}

/** The end in a few words, and whether it is the expected one. */
function compare({ end, offline, prints }: RealProgram, { state, text, log }: End): Outcome {
  const failure = [end, offline].find((expected) => typeof expected === 'object' && expected.cause === state);
  if (typeof failure === 'object') {
    const line = text.split('\n').find((part) => failure.says.test(part));
    return { isExpected: line !== undefined, end: `${state}: ${shorten(line ?? text)}` };
  }
  if (state !== 'SUCCEEDED') {
    return { isExpected: false, end: `${state}: ${shorten(text)}` };
  }
  const isPrinted = prints === undefined || log.some((line) => prints.test(line));
  const isExpected = end === 'SUCCEEDED' && isPrinted;
  return { isExpected, end: isPrinted ? state : `${state}, but its log lacks ${prints}` };
}

/** The beginning and the end, where a cause and the last line of a program are. */
function shorten(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, ' ');
  const isLong = line.length > 2 * TEXT_CHARACTERS_MAX;
  return isLong ? `${line.slice(0, TEXT_CHARACTERS_MAX)} … ${line.slice(-TEXT_CHARACTERS_MAX)}` : line;
}
