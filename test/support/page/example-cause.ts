import { type Label, linkToLabel } from '#shared/diagnosis/rules/labels.ts';
import type { JobView } from '#shared/protocol/job-view.ts';

type Cause = NonNullable<JobView['cause']>;

/** `label`: one that the rules of diagnosis have, since the page shows its section. */
type Given = Pick<Cause, 'code' | 'class' | 'message' | 'remedy' | 'evidence'> &
  Partial<Pick<Cause, 'canRetryHelp' | 'rootLine'>> & { readonly label?: Label };

/** A cause as the API shows it, by default without a diagnosis. */
export function causeOf({ label, ...given }: Given): Cause {
  const link = label === undefined ? null : linkToLabel(label);
  return { canRetryHelp: null, rootLine: null, ...given, label: label ?? null, link };
}
