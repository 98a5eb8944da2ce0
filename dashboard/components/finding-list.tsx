import { Icon } from '#dashboard/components/icon.tsx';
import type { Problem } from '#shared/protocol/problem.ts';

type Props = { readonly findings: readonly Problem[]; readonly tone: 'error' | 'warning' };

/** Problems or warnings of a submission, each with its place and what to write instead. */
export function FindingList({ findings, tone }: Props) {
  return findings.length === 0 ? null : (
    <ul class="findings">
      {findings.map((finding) => (
        <li key={JSON.stringify(finding)} class={`finding finding-${tone}`}>
          <Icon name={tone} />
          <div>
            <p class="user-text">
              {finding.message}
              {finding.line !== undefined && <span class="muted"> line {finding.line}</span>}
            </p>
            <p class="muted user-text">{finding.remedy}</p>
          </div>
        </li>
      ))}
    </ul>
  );
}
