import { EMPTY_DRAFT, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { createFindings, type Findings } from '#shared/job-file/parser/findings.ts';
import { readJobFile } from '#shared/job-file/read-job-file.ts';
import { describeCluster } from '#shared/job-file/validate-job-file.ts';
import { checkMachines, type MachinesCheck } from '#shared/job-file/validation/check-machines.ts';
import { describeProblem } from './describe-problem.ts';

export type JobMachines = MachinesCheck & { readonly draft: JobDraft; readonly findings: Findings };

/** Checks only the machines of a job file; the findings include the parser's. */
export function machinesOf(text: string): JobMachines {
  const reading = readJobFile(text, { fileName: 'job.yaml' });
  const draft = reading.draft ?? EMPTY_DRAFT;
  const findings = createFindings();
  findings.problems.push(...reading.problems);
  findings.warnings.push(...reading.warnings);
  return { draft, findings, ...checkMachines(draft, findings) };
}

/** The requested machines by role, as `jobs validate` prints them. */
export function clusterOf(text: string) {
  const { draft, requested } = machinesOf(text);
  return describeCluster(draft.dialect, requested);
}

/** The machines that would be started, one line per group; undefined if they are invalid. */
export function planOf(text: string) {
  return machinesOf(text).groups?.map(({ role, count, machine: { machineType, accelerator }, isTpu }) =>
    [role, count, machineType, ...(accelerator ? [accelerator.type, accelerator.count] : []), isTpu && 'TPU']
      .filter((part) => part !== false)
      .join(' '),
  );
}

/** An AI Platform job with this trainingInput, in YAML flow style. */
export function custom(input: string): string {
  return `trainingInput: {scaleTier: CUSTOM, ${input}}`;
}

/** A Vertex AI job with these worker pools. */
export function pools(...specs: readonly string[]): string {
  const lines = specs.map((spec) => `  - {${spec}, containerSpec: {imageUri: gcr.io/lab/birds}}`);
  return ['workerPoolSpecs:', ...lines].join('\n');
}

export function problemsOf(text: string): readonly string[] {
  return machinesOf(text).findings.problems.map(describeProblem);
}

export function warningsOf(text: string): readonly string[] {
  return machinesOf(text).findings.warnings.map(describeProblem);
}
