import {
  CHANNELS_COUNT_MAX,
  NOTIFIED_STATES,
  type NotifiedState,
  type NotifySpec,
} from '#shared/domain/notification.ts';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, type Located, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

/**
 * Where and when the job notifies; null if it says nothing. Invalid states are problems. Whether the channels exist is
 * known to the deployment only, and checked at intake.
 */
export function checkNotify({ notify }: JobDraft, findings: Findings): NotifySpec | null {
  if (notify === undefined) {
    return null;
  }
  const { channels, states } = notify;
  const [first] = channels ?? [];
  if (first !== undefined && (channels?.length ?? 0) > CHANNELS_COUNT_MAX) {
    const message = `The job names ${channels?.length} notification channels; the maximum is ${CHANNELS_COUNT_MAX}.`;
    const remedy = 'Name fewer, or leave channels out for all of the deployment.';
    findings.problems.push({ code: 'TOO_MANY_CHANNELS', message, remedy, ...locationOf(first) });
  }
  return {
    channels: channels === undefined ? null : [...new Set(channels.map(({ value }) => value))],
    states: states === undefined ? null : [...new Set(states.flatMap((state) => readState(state, findings)))],
  };
}

function readState(given: Located<string>, findings: Findings): readonly NotifiedState[] {
  const known = NOTIFIED_STATES.find((state) => state === given.value.toUpperCase());
  if (known === undefined) {
    const message = `${given.path} is not a state to notify of: ${quote(given.value)}.`;
    const remedy = `${didYouMean(given.value, NOTIFIED_STATES)}Write one of ${NOTIFIED_STATES.join(', ')}.`;
    reportInvalid(given, { code: 'UNKNOWN_STATE', message, remedy }, findings);
    return [];
  }
  return [known];
}
