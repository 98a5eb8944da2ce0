import { EMPTY_DRAFT } from '#shared/job-file/draft/job-draft.ts';
import type { Check, CheckedJob, CheckPorts } from '#shared/use-cases/intake/checks/check.ts';
import { exampleIntake } from '../api/example-intake.ts';
import { queuedJob } from '../domain/example-job.ts';

/** A job without an image, package or earlier tuning. */
export function checkedJob(facts: Partial<CheckedJob>): CheckedJob {
  const { spec, zones } = queuedJob();
  const nothing = { images: [], enclosingPackage: null, packages: [], resumes: [], warnings: [] };
  return { draft: EMPTY_DRAFT, spec, zones, ...nothing, ...facts };
}

type Given = Partial<Omit<CheckPorts, 'intake'>> & { readonly intake?: Partial<CheckPorts['intake']> };

/** The findings and pins of a check in this job, with the ports that it needs. */
export async function runCheck(check: Check, facts: Partial<CheckedJob>, { intake, ...ports }: Given = {}) {
  const given = { ...ports, intake: { ...exampleIntake, ...intake } };
  const found = await check(checkedJob(facts), given as CheckPorts);
  return { problems: [], warnings: [], missing: [], unavailable: [], pins: {}, ...found };
}
