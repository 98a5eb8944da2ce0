import { EMPTY_DRAFT, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { createFindings, type Findings } from '#shared/job-file/parser/findings.ts';
import { readJobFile } from '#shared/job-file/read-job-file.ts';
import { checkMachines, type MachinesCheck } from '#shared/job-file/validation/check-machines.ts';
import { describeCluster } from '#shared/job-file/validation/describe-cluster.ts';
import { describeProblem } from './describe-problem.ts';

export type JobMachines = MachinesCheck & { readonly draft: JobDraft; readonly findings: Findings };

/** A job file's machines, judged apart from the rest of it: what the reader has found is among the findings as well. */
export function machinesOf(text: string): JobMachines {
  const reading = readJobFile(text, { fileName: 'job.yaml' });
  const draft = reading.draft ?? EMPTY_DRAFT;
  const findings = createFindings();
  findings.problems.push(...reading.problems);
  findings.warnings.push(...reading.warnings);
  return { draft, findings, ...checkMachines(draft, findings) };
}

/** The machines as a job's description names them: what was asked for, role by role. */
export function clusterOf(text: string) {
  const { draft, asked } = machinesOf(text);
  return describeCluster(draft.dialect, asked);
}

/** The machines that would be started, a line for each group; nothing where they cannot be. */
export function planOf(text: string) {
  return machinesOf(text).groups?.map(({ role, count, machine: { machineType, accelerator }, isTpu }) =>
    [role, count, machineType, ...(accelerator ? [accelerator.type, accelerator.count] : []), isTpu && 'TPU']
      .filter((part) => part !== false)
      .join(' '),
  );
}

/** AI Platform's job with this training input, in YAML's flow style. */
export function custom(input: string): string {
  return `trainingInput: {scaleTier: CUSTOM, ${input}}`;
}

/** Vertex AI's job of these pools, each with what its machineSpec and the pool itself say. */
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
