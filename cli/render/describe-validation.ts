import type { Output } from '#cli/core/command.ts';
import { describePlan } from '#cli/render/describe-plan.ts';
import { paint } from '#cli/render/paint.ts';
import type { JobFileValidation } from '#shared/job-file/validation/validate-job-file.ts';
import type { Problem } from '#shared/protocol/report.ts';

/** The verdict on one file as other programs read it: one object, which says as little as null where it knows nothing. */
export function toJson(file: string, validation: JobFileValidation): object {
  const { dialect, verdict, isRunnable, errors, warnings, cluster, trials, price } = validation;
  return {
    file,
    dialect,
    verdict,
    isRunnable,
    errors,
    warnings,
    cluster,
    trials,
    price: price && { onDemandPerHour: price.onDemandPerHour, spotPerHour: price.spotPerHour, asOf: price.asOf },
  };
}

/** The verdict for people: what is wrong with remedies, and what would run at what price. */
export function describeValidation(file: string, validation: JobFileValidation, output: Output): string {
  const { verdict, dialect, errors, warnings, plan, isRunnable } = validation;
  const form = dialect === null ? '' : `  (${FORMS[dialect]})`;
  return [
    `${file}: ${paint(verdict, verdict === 'valid' ? 'green' : 'red', output)}${form}${verdict === 'valid' && !isRunnable ? ', but nothing that this version can run' : ''}`,
    ...errors.map((problem) => describeFinding(problem, paint('error', 'red', output))),
    ...warnings.map((problem) => describeFinding(problem, paint('warning', 'yellow', output))),
    ...(plan === null ? [] : describePlan({ ...validation, plan })),
  ].join('\n');
}

const FORMS = { 'ai-platform': 'AI Platform', 'vertex-ai': 'Vertex AI', dropforge: "Dropforge's own form" } as const;

/** The line comes first, as compilers have it. */
function describeFinding({ code, message, remedy, path, line }: Problem, severity: string): string {
  const place = [line === undefined ? undefined : `line ${line}`, path].filter((part) => part !== undefined).join(', ');
  return `  ${severity} ${code}${place === '' ? '' : ` (${place})`}: ${message}\n      → ${remedy}`;
}
