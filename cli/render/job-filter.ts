import { UsageFailure } from '#cli/core/failure.ts';
import { readField } from '#cli/render/result-format.ts';
import type { JobView } from '#shared/protocol/report.ts';

const TERM = /^([\w-]+(?:\.[\w-]+)*)\s*(!=|=|:)\s*("[^"]*"|'[^']*'|[^\s"'()]+)$/;

/**
 * Reads what `--filter` says in gcloud's words ("gcloud topic filters"): `state=RUNNING`, `state!=FAILED`, `jobId:digits`
 * for what holds a text, several of them with AND. Throws for what it does not know: a filter that is passed over would
 * show other jobs than were asked for.
 */
export function readJobFilter(text: string | undefined): (job: JobView) => boolean {
  const terms = (text ?? '')
    .split(/\s+AND\s+/)
    .filter((term) => term.trim() !== '')
    .map(readTerm);
  return (job) => terms.every((matches) => matches(job));
}

function readTerm(text: string): (job: JobView) => boolean {
  const [, field, operator, value] = TERM.exec(text.trim()) ?? [];
  if (field === undefined || value === undefined) {
    throw new UsageFailure(
      `--filter '${text}' cannot be honoured: write FIELD=VALUE, FIELD!=VALUE or FIELD:PART, several of them with AND, ` +
        'such as state=RUNNING.',
    );
  }
  const wanted = value.replaceAll(/^["']|["']$/g, '').toLowerCase();
  const textOf = (job: JobView) => String(readField(job, field) ?? '').toLowerCase();
  switch (operator) {
    case ':':
      return (job) => textOf(job).includes(wanted);
    case '!=':
      return (job) => textOf(job) !== wanted;
    default:
      return (job) => textOf(job) === wanted;
  }
}
