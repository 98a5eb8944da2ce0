import { describe, expect, it } from 'vitest';
import { chooseFindings } from '#dashboard/screens/job/choose-findings.ts';
import type { JobView } from '#shared/protocol/job-view.ts';

const FINDING: JobView['health'][number] = {
  code: 'GPU_IDLE',
  replica: 'master-0',
  message: 'The GPU was idle.',
  remedy: 'Use it.',
  evidence: [],
  sinceTime: '2026-11-23T00:00:00.000Z',
  untilTime: null,
};
const CAUSE: JobView['cause'] & object = {
  code: 'TRAINING_STALLED',
  class: 'PROGRAM',
  message: 'It stalled.',
  remedy: 'Read the stack.',
  evidence: [],
  label: 'training_stalled',
  canRetryHelp: false,
  link: null,
  rootLine: null,
};
const ENDED = '2026-11-23T00:10:00.000Z';

describe('the health findings that a job shows', () => {
  it('are those that last, while it runs', () => {
    const over = { ...FINDING, code: 'STALLED', untilTime: ENDED };
    expect(chooseFindings({ health: [FINDING, over], cause: null, endTime: null })).toEqual({
      open: [FINDING],
      past: [],
    });
  });

  it('are folded once it has ended, without the one that ended it', () => {
    const decisive = { ...FINDING, code: 'STALLED', remedy: CAUSE.remedy };
    const chosen = chooseFindings({ health: [FINDING, decisive], cause: CAUSE, endTime: ENDED });
    expect(chosen).toEqual({ open: [], past: [FINDING] });
  });
});
