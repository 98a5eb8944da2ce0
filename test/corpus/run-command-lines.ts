import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';
import { parseArgsStringToArgv } from 'string-argv';
import { runCli } from '../support/cli/test-cloud.ts';

export type CommandOutcome = {
  readonly line: string;
  readonly code: number;
  readonly text: string;
};

/** Contents for the job files that the lines name, which are not available. */
const CONFIGS = {
  'jobs submit training': 'trainingInput: {}\n',
  'custom-jobs create':
    'workerPoolSpecs:\n- machineSpec: {machineType: n1-standard-4}\n  replicaCount: 1\n  containerSpec: {imageUri: gcr.io/p/i}\n',
  'hp-tuning-jobs create':
    'studySpec:\n  metrics: [{metricId: a, goal: MAXIMIZE}]\n  parameters: [{parameterId: b, doubleValueSpec: {minValue: 0, maxValue: 1}}]\ntrialJobSpec:\n  workerPoolSpecs:\n  - machineSpec: {machineType: n1-standard-4}\n    replicaCount: 1\n    pythonPackageSpec: {packageUris: [gs://my-bucket/p.tar.gz], pythonModule: t, executorImageUri: us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-11.py310:latest}\n',
} as const;

/** The gcloud commands and the commands that replace them. */
const COMMANDS: readonly (readonly [RegExp, keyof typeof CONFIGS])[] = [
  [/^gcloud\s+(alpha\s+|beta\s+)?(ml-engine|ai-platform)\s+jobs\s+submit\s+training\b/, 'jobs submit training'],
  [/^gcloud\s+(alpha\s+|beta\s+)?ai\s+custom-jobs\s+create\b/, 'custom-jobs create'],
  [/^gcloud\s+(alpha\s+|beta\s+)?ai\s+hp-tuning-jobs\s+create\b/, 'hp-tuning-jobs create'],
];

/** Runs a gcloud line as a Dropforge command with --dry-run; null if it is another command. */
export async function runCommandLine(line: string, cwd: string): Promise<CommandOutcome | null> {
  const found = COMMANDS.find(([pattern]) => pattern.test(line));
  if (found === undefined) {
    return null;
  }
  const [pattern, command] = found;
  const argv = parseArgsStringToArgv(line.replace(pattern, ''));
  const separator = argv.indexOf('--');
  const dryRun = separator < 0 ? [...argv, '--dry-run'] : argv.toSpliced(separator, 0, '--dry-run');
  const config = valueOfFlag(argv, '--config');
  if (config !== undefined) {
    await writeWithin(cwd, config, CONFIGS[command]);
  }
  const { code, stdout, stderr } = await runCli([...command.split(' '), ...dryRun], { cwd });
  return { line, code, text: `${stdout}${stderr}` };
}

function valueOfFlag(argv: readonly string[], flag: string): string | undefined {
  const index = argv.findIndex((word) => word === flag || word.startsWith(`${flag}=`));
  return argv[index]?.includes('=') ? argv[index]?.slice(flag.length + 1) : argv[index + 1];
}

async function writeWithin(cwd: string, path: string, text: string): Promise<void> {
  const target = resolve(cwd, path);
  if (target.startsWith(cwd + sep)) {
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, text);
  }
}
