import { formatTable } from '#cli/render/format-table.ts';
import { FRAME_KIND_NAMES } from '#shared/diagnosis/profile/frame-kinds.ts';
import { describePlace } from '#shared/diagnosis/profile/profile-samples.ts';
import type { ProfileView } from '#shared/protocol/profile-view.ts';

type Verdict = NonNullable<ProfileView['verdict']>;
type TopFrame = Verdict['topFrames'][number];

/** The verdict with its evidence, the functions that took most of the time, and where the file is. */
export function describeProfile({ verdict, message, file }: ProfileView, savedAs: string | null): string {
  const where = file === null ? [] : [`Profile: ${savedAs ?? file.uri}. Open it at https://www.speedscope.app.`];
  if (verdict === null) {
    return [message, ...where].join('\n');
  }
  const evidence = verdict.evidence.map((line) => `  ${line}`);
  return [
    verdict.summary,
    ...evidence,
    `Remedy: ${verdict.remedy}`,
    '',
    formatFrames(verdict.topFrames),
    '',
    ...where,
  ].join('\n');
}

function formatFrames(frames: readonly TopFrame[]): string {
  const rows = frames.map(({ fraction, kind, calledFrom, ...frame }) => [
    `${(100 * fraction).toFixed(1)} %`,
    FRAME_KIND_NAMES[kind],
    frame.name,
    describePlace(frame),
    calledFrom === null ? '-' : `${calledFrom.name} ${describePlace(calledFrom)}`,
  ]);
  return formatTable(['TIME', 'KIND', 'FUNCTION', 'WHERE', 'CALLED FROM'], rows);
}

/** One line on the progress of a profile. */
export function describeProgress({ state, replica, seconds, jobId }: ProfileView): string {
  switch (state) {
    case 'REQUESTED':
      return `Waiting for the next heartbeat of ${replica} of job ${jobId}.`;
    case 'RECORDING':
      return `Recording ${seconds} s.`;
    case 'RECORDED':
      return 'Recorded.';
    case 'FAILED':
      return 'Failed.';
  }
}
