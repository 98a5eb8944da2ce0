import { priceOf } from '#shared/catalog/price.ts';
import type { Study } from '#shared/domain/study.ts';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import type { ParameterDraft, StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import { type Findings, type Located, locationOf } from '#shared/job-file/parser/findings.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';

type Plan = {
  readonly groups: Parameters<typeof priceOf>[0];
  readonly provisioningModel: Parameters<typeof priceOf>[1];
};

/** Results of earlier checks; null if they found problems. */
type Checked = { readonly jobId: string | null; readonly study: Study | null; readonly plan: Plan | null };

/** Checks a study against the rest of its job: its id, arguments and machines. */
export function checkTuningJob(draft: JobDraft, { jobId, study, plan }: Checked, findings: Findings): void {
  if (draft.study === undefined) {
    return;
  }
  rejectOwnResume(draft.study, jobId, findings);
  warnOfArguments(draft, draft.study, findings);
  if (study !== null && plan !== null) {
    checkPrice(draft.study, plan, findings);
  }
}

function rejectOwnResume({ resumeJobId }: StudyDraft, jobId: string | null, findings: Findings): void {
  if (resumeJobId !== undefined && resumeJobId.value !== '' && resumeJobId.value === jobId) {
    const message = `${resumeJobId.path} is ${quote(jobId)}, this job itself.`;
    const remedy = 'Write the id of an earlier tuning job, or choose another id for this one.';
    findings.problems.push({ code: 'RESUMES_ITSELF', message, remedy, ...locationOf(resumeJobId) });
  }
}

/** Each trial appends its values to the arguments, and most parsers use the last one. */
function warnOfArguments({ pools }: JobDraft, { parameters = [] }: StudyDraft, findings: Findings): void {
  const args = pools.flatMap(({ program }) => [...(program.args ?? []), ...(program.containerArgs ?? [])]);
  const reported = new Set<string>();
  for (const { value: id } of idsOf(parameters)) {
    const argument = args.find(({ value }) => value === `--${id}` || value.startsWith(`--${id}=`));
    if (argument !== undefined && !reported.has(id)) {
      reported.add(id);
      const message = `${argument.path} sets --${id}, which is also tuned: each trial appends its own value.`;
      const remedy = 'Remove it from the arguments; programs that use the first of two values would ignore the trials.';
      findings.warnings.push({ code: 'TUNED_ARGUMENT', message, remedy, ...locationOf(argument) });
    }
  }
}

function idsOf(parameters: readonly ParameterDraft[]): readonly Located<string>[] {
  return parameters.flatMap(({ id, children }) => [
    ...(id === undefined || id.value === '' ? [] : [id]),
    ...idsOf(children.map(({ parameter }) => parameter)),
  ]);
}

/** A limit that cannot be compared with anything would never apply. */
function checkPrice({ maxCostUsd }: StudyDraft, { groups, provisioningModel }: Plan, findings: Findings): void {
  if (maxCostUsd !== undefined && priceOf(groups, provisioningModel).perHourUsd === null) {
    const types = [...new Set(groups.map(({ machineType }) => machineType))].join(', ');
    const message = `${maxCostUsd.path} cannot be applied: the price of ${types} is not known.`;
    const remedy = 'Choose a machine with a known price, or limit the number of trials and their running time instead.';
    findings.problems.push({ code: 'PRICE_UNKNOWN', message, remedy, ...locationOf(maxCostUsd) });
  }
}
