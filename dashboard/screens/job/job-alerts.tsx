import { Alert } from '#dashboard/components/alert.tsx';
import { FindingList } from '#dashboard/components/finding-list.tsx';
import { ScrollRegion } from '#dashboard/components/scroll-region.tsx';
import { Link } from '#dashboard/navigation/link.tsx';
import { addressOfDiagnosis } from '#dashboard/navigation/route.ts';
import { chooseFindings } from '#dashboard/screens/job/choose-findings.ts';
import { KeptVm } from '#dashboard/screens/job/kept-vm.tsx';
import type { JobView } from '#shared/protocol/job-view.ts';
import { formatAgo } from '#shared/text/format-time.ts';

type Props = { readonly job: JobView; readonly now: number; readonly onChange: () => void };

/** Why the job failed or waits and what to do, and what its agents noticed; nothing for a healthy job. */
export function JobAlerts({ job, now, onChange }: Props) {
  const { cause, waitingFor, warnings } = job;
  const { open, past } = chooseFindings(job);
  const isFailure = job.state === 'FAILED';
  return (
    <div class="alerts">
      {cause !== null && (
        <Alert tone={isFailure ? 'error' : 'info'} code={cause.label ?? cause.code} title={cause.message}>
          <p class="user-text">{cause.remedy}</p>
          {isFailure && cause.canRetryHelp !== null && (
            <p class="muted">
              {cause.canRetryHelp
                ? 'The same job may succeed when it is started again.'
                : 'Starting the same job again will not help.'}
            </p>
          )}
          <Evidence lines={cause.evidence} rootLine={cause.rootLine} isOpen={isFailure} />
          {cause.label !== null && (
            <p class="muted">
              <Link href={addressOfDiagnosis(cause.label)}>
                What <code>{cause.label}</code> means
              </Link>
            </p>
          )}
        </Alert>
      )}
      <KeptVm {...{ job, now, onChange }} />
      {waitingFor !== null && <Alert tone="info" code={waitingFor.code} title={waitingFor.message} />}
      {open.map((finding) => (
        <HealthAlert key={`${finding.replica} ${finding.code}`} finding={finding} now={now} />
      ))}
      <FindingList findings={warnings} tone="warning" />
      {past.length > 0 && (
        <details>
          <summary class="muted">Noticed while it ran ({past.length})</summary>
          {past.map((finding) => (
            <HealthAlert key={`${finding.replica} ${finding.code}`} finding={finding} now={now} />
          ))}
        </details>
      )}
    </div>
  );
}

type HealthAlertProps = { readonly finding: JobView['health'][number]; readonly now: number };

function HealthAlert({ finding, now }: HealthAlertProps) {
  return (
    <Alert
      tone="warning"
      code={finding.code}
      title={finding.message}
      note={`${finding.replica}, ${formatAgo(finding.sinceTime, now)}`}
    >
      <p class="user-text">{finding.remedy}</p>
      <Evidence lines={finding.evidence} isOpen={false} />
    </Alert>
  );
}

type EvidenceProps = {
  readonly lines: readonly string[];
  /** The line that decided; it is emphasized. */
  readonly rootLine?: string | null;
  readonly isOpen: boolean;
};

function Evidence({ lines, rootLine = null, isOpen }: EvidenceProps) {
  return lines.length === 0 ? null : (
    <details class="evidence" open={isOpen}>
      <summary>Evidence</summary>
      <ScrollRegion class="evidence-lines" label="Evidence">
        <pre>
          {lines.map((line, index) => [
            index > 0 && '\n',
            line === rootLine ? <strong key={line}>{line}</strong> : line,
          ])}
        </pre>
      </ScrollRegion>
    </details>
  );
}
