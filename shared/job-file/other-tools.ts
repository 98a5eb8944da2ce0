import type { Problem } from '#shared/protocol/problem.ts';

/** The page that translates files of other tools, with a heading for each. */
const PAGE = 'docs/coming-from-other-tools.md';

type Tool = readonly [name: string, fields: readonly string[], remedy: string];

const translated = (heading: string) => `${PAGE}#${heading} has the fields of a job file for those of this one.`;

/** Fields that only files of a tool have together at their top. */
const TOOLS: readonly Tool[] = [
  ['Kubernetes', ['apiVersion', 'kind'], translated('kubernetes')],
  ['SkyPilot', ['resources', 'run'], translated('skypilot')],
  ['SkyPilot', ['setup', 'run'], translated('skypilot')],
  ['SageMaker', ['TrainingJobName'], translated('sagemaker')],
  ['SageMaker', ['AlgorithmSpecification'], translated('sagemaker')],
  ['Docker Compose', ['services'], translated('docker-compose')],
  ['GitHub Actions', ['on', 'jobs'], 'Upload the job file that a step of the workflow submits.'],
  ['Weights & Biases (a sweep)', ['method', 'parameters'], 'Write the parameters under tune: (docs/tuning.md).'],
  ['conda', ['channels', 'dependencies'], 'Keep it in the package, and write a job.yaml with module: beside it.'],
  ['npm', ['name', 'version', 'scripts'], 'Write a job.yaml with module: or image: instead.'],
  ['Google Cloud (a key of an account)', ['private_key'], 'Keep it out of packages and buckets, and write a job.yaml.'],
];

/** Recognizes a file of another tool by its fields; undefined if it can be a job file. */
export function recognizeOtherTool(fileName: string, names: readonly string[]): Problem | undefined {
  const [tool, , remedy] = TOOLS.find(([, fields]) => fields.every((field) => names.includes(field))) ?? [];
  const message = `${fileName} is a file of ${tool}, not a job file.`;
  return remedy === undefined ? undefined : { code: 'FILE_OF_OTHER_TOOL', message, remedy, line: 1 };
}
