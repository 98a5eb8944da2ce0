import type { Role } from '#shared/domain/replica-name.ts';
import {
  EMPTY_DRAFT,
  EMPTY_PROGRAM,
  emptyPool,
  type JobDraft,
  type ProgramDraft,
} from '#shared/job-file/draft/job-draft.ts';
import { createFindings } from '#shared/job-file/parser/findings.ts';
import { checkPrograms } from '#shared/job-file/validation/check-programs.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';
import { CONTEXT } from './context.ts';
import { describeProblem } from './describe-problem.ts';
import { listed, located } from './located.ts';

/** The value of `ofRole` if all roles run the master's program. */
export const NONE = { master: null, worker: null, ps: null, evaluator: null };

export const IMAGE = 'us-docker.pkg.dev/acme/trainers/digits:1';

/** The checked program of `packaged`. */
export const PYTHON = {
  kind: 'PYTHON',
  packageUris: ['gs://bkt/t.tar.gz'],
  module: 'trainer.task',
  args: [],
  environment: {},
};

/** The checked program of `contained`. */
export const CONTAINER = {
  kind: 'CONTAINER',
  imageUri: IMAGE,
  image: null,
  command: [],
  args: [],
  environment: {},
  packageUris: [],
  module: null,
};

export type Programs = Readonly<Partial<Record<Role, Partial<ProgramDraft>>>>;

/** A job in AI Platform's or Dropforge's dialect. */
export function jobOf(programs: Programs, more: Partial<JobDraft> = {}): JobDraft {
  const pools = Object.entries({ master: {}, ...programs }).map(([role, program]) => ({
    ...emptyPool(role as Role, 'trainingInput'),
    program: { ...EMPTY_PROGRAM, ...program },
  }));
  return { ...EMPTY_DRAFT, pools, ...more };
}

export function packaged(
  uris: readonly string[] = ['gs://bkt/t.tar.gz'],
  module = 'trainer.task',
): Partial<ProgramDraft> {
  return { packageUris: listed(uris, 'packageUris'), pythonModule: located(module, 'pythonModule') };
}

export function contained(uri = IMAGE, path = 'imageUri'): Partial<ProgramDraft> {
  return { imageUri: located(uri, path) };
}

/** The programs that would run, and the code and path of each finding. */
export function check(draft: JobDraft, context: JobContext = CONTEXT) {
  const findings = createFindings();
  const programs = checkPrograms(draft, context, findings);
  return { programs, codes: [...findings.problems, ...findings.warnings].map(describeProblem) };
}
