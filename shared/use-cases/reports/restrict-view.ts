import type { JobView } from '#shared/protocol/report.ts';

/**
 * The view for a caller to whom the job's log is denied: without the lines of it that explain causes and findings.
 * States, causes, metrics and prices stay.
 */
export function restrictView(view: JobView, restriction: string | null): JobView {
  if (restriction === null) {
    return view;
  }
  const { cause, health } = view;
  return {
    ...view,
    restriction,
    cause: cause && { ...cause, evidence: [], rootLine: null },
    health: health.map((finding) => ({ ...finding, evidence: [] })),
  };
}
