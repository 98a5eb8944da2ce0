// Runs `dropforge jobs validate` on the job files of a repository. No shell reads a name of a file, and no finding can
// become a command of the workflow or markup of its summary.
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';

const OUTPUT_BYTES_MAX = 2 ** 26;
const { FILES = '', PACKAGE = '', DEPLOYMENT = '', DROPFORGE = '' } = process.env;
const { GITHUB_STEP_SUMMARY = '', RUNNER_TEMP = tmpdir() } = process.env;

process.exitCode = validate(listFiles(FILES.split('\n').filter((pattern) => pattern.trim() !== '')));

function listFiles(patterns) {
  const { stdout, stderr } = run('git', ['ls-files', '-z', '--', ...patterns]);
  const files = patterns.length === 0 ? [] : stdout.split('\0').filter((file) => file !== '');
  if (files.length === 0) {
    annotate('error', {}, `No file of this repository matches ${patterns.join(' or ')}: correct the input files. ${stderr}`);
  }
  return files;
}

/** Returns the exit code. */
function validate(files) {
  if (DROPFORGE === '') {
    annotate('error', {}, 'The input dropforge is missing: name the address of a tarball of Dropforge.');
  }
  if (files.length === 0 || DROPFORGE === '') {
    return 1;
  }
  const paths = Object.entries({ deployment: DEPLOYMENT, package: PACKAGE }).filter(([, path]) => path !== '');
  const flags = paths.map(([name, path]) => `--${name}=${resolve(path)}`);
  const command = ['--yes', `--package=${DROPFORGE}`, '--', 'dropforge', 'jobs', 'validate', '--format=json', ...flags];
  // In the repository, npm would follow its .npmrc and start the programs of its node_modules.
  const cwd = mkdtempSync(join(RUNNER_TEMP, 'dropforge-'));
  const { status, stdout, stderr } = run('npx', [...command, ...files.map((file) => resolve(file))], cwd);
  const found = stdout.split('\n').filter((line) => line.startsWith('{'));
  const results = found.map((line) => JSON.parse(line)).map((one) => ({ ...one, file: relative('', one.file) }));
  for (const { file, errors, warnings, hints = [] } of results) {
    for (const [level, problems] of Object.entries({ error: errors, warning: warnings, notice: hints })) {
      for (const { code, line, message, remedy } of problems) {
        annotate(level, { file, line, title: code }, `${message} ${remedy}`);
      }
    }
  }
  if (results.length < files.length) {
    annotate('error', {}, `dropforge has validated ${results.length} of ${files.length} job files: ${stderr}`);
  }
  appendFileSync(GITHUB_STEP_SUMMARY, summarize(results));
  return results.length < files.length ? 1 : status;
}

function summarize(results) {
  const rows = results.map(({ file, verdict, isRunnable, runs, trials, price }) => [
    file,
    verdict === 'valid' && !isRunnable ? 'valid, but not supported by this version' : verdict,
    (runs ?? []).map(({ count, machineType, gpus }) => describeMachine(count, machineType, gpus)).join(', '),
    trials === null ? '' : `${trials.max ?? '?'}, ${trials.parallel ?? '?'} at a time`,
    ...[price?.perHour, price?.onDemandPerHour, price?.spotPerHour].map((usd) => (usd == null ? '' : `$${usd.toFixed(2)}`)),
  ]);
  const asOf = results.find(({ price }) => price !== null)?.price.asOf;
  return [
    '### Dropforge job files\n',
    '| job file | verdict | machines | trials | an hour | on demand | Spot |',
    '| --- | --- | --- | --- | ---: | ---: | ---: |',
    ...rows.map((cells) => `| ${cells.map(escapeMarkdown).join(' | ')} |`),
    ...(asOf === undefined ? [] : [`\nList prices of the machines of one job or trial, ${escapeMarkdown(asOf)}.`]),
    '',
  ].join('\n');
}

function describeMachine(count, machineType, gpus) {
  return `${count} × ${machineType}${gpus === null ? '' : ` with ${gpus.count} × ${gpus.type}`}`;
}

/** Every character that could begin markup becomes a character reference. */
function escapeMarkdown(text) {
  return text.replaceAll(/[^\w .,×$-]/gu, (character) => `&#${character.codePointAt(0)};`);
}

/** Prints a command of the workflow (GitHub docs, "Workflow commands"). */
function annotate(level, properties, message) {
  const given = Object.entries(properties).filter(([, value]) => value !== undefined);
  const list = given.map(([name, value]) => `${name}=${escapeData(String(value)).replaceAll(':', '%3A').replaceAll(',', '%2C')}`);
  console.log(`::${level}${list.length === 0 ? '' : ` ${list.join(',')}`}::${escapeData(message.trim())}`);
}

function escapeData(text) {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function run(program, args, cwd = '.') {
  const { error, ...result } = spawnSync(program, args, { cwd, encoding: 'utf8', maxBuffer: OUTPUT_BYTES_MAX });
  return error === undefined ? result : { status: 1, stdout: '', stderr: error.message };
}
