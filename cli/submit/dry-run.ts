import type { ExitCode, Invocation } from '#cli/core/command.ts';
import { describePlan } from '#cli/render/describe-plan.ts';
import { describeProblem } from '#cli/render/describe-report.ts';
import { paint } from '#cli/render/paint.ts';
import type { JudgedRequest } from '#cli/submit/job-request.ts';
import { OFFLINE_CONTEXT } from '#cli/submit/offline-context.ts';
import { validateJobFile } from '#shared/job-file/validation/validate-job-file.ts';

/** Shows the job that a submission would make, completed and judged: the file, what would run, and what is wrong. */
export function showDryRun({ io, print }: Invocation, judged: JudgedRequest): ExitCode {
  const { jobFile, spec, problems, warnings } = judged;
  const would = jobFile === null ? null : validateJobFile(jobFile, { fileName: 'job.yaml', context: OFFLINE_CONTEXT });
  const plan = would?.plan ?? null;
  print({
    json: { spec, jobFile, plan, problems, warnings },
    text: [
      ...(jobFile === null ? [] : [jobFile.trimEnd()]),
      ...(would === null || plan === null ? [] : ['', ...describePlan({ ...would, plan })]),
      ...problems.map((problem) => `- ${describeProblem(problem)}`),
      ...warnings.map((warning) => `- ${paint('warning:', 'yellow', io.stdout)} ${describeProblem(warning)}`),
    ].join('\n'),
  });
  return spec === null || problems.length > 0 ? 1 : 0;
}
