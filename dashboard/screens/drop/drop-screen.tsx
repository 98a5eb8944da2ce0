import { ErrorPanel } from '#dashboard/components/error-panel.tsx';
import { DropZone } from '#dashboard/screens/drop/drop-zone.tsx';
import { type SubmissionStep, useSubmission } from '#dashboard/screens/drop/use-submission.ts';
import { VerdictView } from '#dashboard/screens/drop/verdict-view.tsx';
import { formatPercent } from '#shared/text/format-number.ts';

/** Submits a package: its findings, machines and price before it starts. */
export function DropScreen() {
  const submission = useSubmission();
  const { current, error } = submission;
  return (
    <section class="drop">
      <h1 class="screen-title">New job</h1>
      {current.step === 'VERDICT' ? (
        <VerdictView submission={submission} shown={current} />
      ) : (
        <>
          {error !== null && <ErrorPanel error={error} />}
          {current.step === 'CHOOSE' ? (
            <DropZone onChoose={submission.choose} />
          ) : (
            <Working current={current} onCancel={submission.reset} />
          )}
        </>
      )}
    </section>
  );
}

type WorkingProps = {
  readonly current: Exclude<SubmissionStep, { step: 'CHOOSE' | 'VERDICT' }>;
  readonly onCancel: () => void;
};

function Working({ current, onCancel }: WorkingProps) {
  const fraction = current.step === 'UPLOAD' ? current.fraction : null;
  return (
    <div class="drop-zone" role="status">
      <p class="drop-title user-text">{describe(current)}</p>
      <progress
        class="bar bar-running drop-bar"
        aria-label="Upload"
        max={1}
        {...(fraction !== null && { value: fraction })}
      />
      <button type="button" class="button" onClick={onCancel}>
        Cancel
      </button>
    </div>
  );
}

function describe(current: WorkingProps['current']): string {
  switch (current.step) {
    case 'PACK':
      return `Packing ${current.name}…`;
    case 'UPLOAD':
      return `Uploading ${current.name}, ${formatPercent(current.fraction)}`;
    case 'CHECK':
      return `Checking ${current.name}…`;
  }
}
