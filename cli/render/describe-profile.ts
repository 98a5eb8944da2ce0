import { formatTable } from '#cli/render/format-table.ts';
import type { ProfileView } from '#shared/protocol/profile-view.ts';

type Verdict = NonNullable<ProfileView['verdict']>;
type TopFrame = Verdict['topFrames'][number];

const KINDS: Readonly<Record<TopFrame['kind'], string>> = {
  STARTUP: 'import',
  INPUT: 'input',
  SAVE: 'save',
  WAIT_FOR_OTHERS: 'wait',
  NATIVE: 'native',
  PYTHON: 'Python',
};

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
    KINDS[kind],
    frame.name,
    placeOf(frame),
    calledFrom === null ? '-' : `${calledFrom.name} ${placeOf(calledFrom)}`,
  ]);
  return formatTable(['TIME', 'KIND', 'FUNCTION', 'WHERE', 'CALLED FROM'], rows);
}

/** `optim/sgd.py:116`: the last two parts of a path are enough to recognize it. */
function placeOf({ file, line }: Pick<TopFrame, 'file' | 'line'>): string {
  const short = file.split('/').slice(-2).join('/');
  return line === null ? short : `${short}:${line}`;
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
