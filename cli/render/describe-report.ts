import type { Output } from '#cli/core/command.ts';
import { programName } from '#cli/core/program-name.ts';
import { paint, paintState } from '#cli/render/paint.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import type { Report } from '#shared/protocol/report.ts';
import { formatImages } from '#shared/text/describe-images.ts';

/** Formats the verdict on a submission, with the problems to fix or the commands to follow the job. */
export function describeReport(report: Report, output: Output): string {
  const warnings = [...report.warnings, ...(report.job?.warnings ?? [])];
  return [...describeVerdict(report, output), ...describeWarnings(warnings, output)].join('\n');
}

export function describeWarnings(warnings: readonly Problem[], output: Output): readonly string[] {
  return warnings.map((warning) => `${paint('warning:', 'yellow', output)} ${describeProblem(warning)}`);
}

/** Formats a problem as `CODE (PATH, line N): MESSAGE → REMEDY`, on two lines. */
export function describeProblem({ code, message, remedy, path, line }: Problem): string {
  const location = [path, line === undefined ? undefined : `line ${line}`]
    .filter((part) => part !== undefined)
    .join(', ');
  return `${code}${location === '' ? '' : ` (${location})`}: ${message}\n    → ${remedy}`;
}

function describeVerdict(report: Report, output: Output): readonly string[] {
  const jobId = report.jobId ?? report.source;
  const verdict = paintState(report.verdict, output);
  switch (report.verdict) {
    case 'ACCEPTED':
      return [
        `Job ${jobId} ${verdict}${report.job === null ? '' : `: ${paintState(report.job.state, output)}`}`,
        ...(report.job === null ? [] : [`  output   ${report.job.jobDir}`]),
        ...(report.job?.images.length ? [`  image    ${formatImages(report.job.images)}`] : []),
        `  follow   ${programName()} jobs stream-logs ${jobId}`,
        `  details  ${programName()} jobs describe ${jobId}`,
        ...(report.job?.tuning ? [`  trials   ${programName()} trials ${jobId}`] : []),
      ];
    case 'REFUSED':
      return [`${jobId} was ${verdict}:`, ...report.problems.map((problem) => `  - ${describeProblem(problem)}`)];
    case 'WAITING':
      return [
        waitsForRegistry(report)
          ? `${jobId} is WAITING for a registry:`
          : `${jobId} is WAITING for objects that it references:`,
        ...report.problems.map((problem) => `  - ${describeProblem(problem)}`),
        ...(waitsForRegistry(report) ? [] : ['  The job starts automatically when they exist.']),
      ];
  }
}

function waitsForRegistry({ problems }: Report): boolean {
  return problems.length > 0 && problems.every(({ code }) => code === 'REGISTRY_UNAVAILABLE');
}
