import type { TuningStore } from '#shared/ports/tuning-store.ts';
import { type TuningMessage, tuningMessageSchema } from '#shared/protocol/stage-message.ts';
import { reportRung } from '#shared/use-cases/tuning/report-rung.ts';
import { type ReportTrialPorts, reportTrial } from '#shared/use-cases/tuning/report-trial.ts';
import { startTrial } from '#shared/use-cases/tuning/start-trial.ts';
import { stopTrial } from '#shared/use-cases/tuning/stop-trial.ts';
import { suggestTrials } from '#shared/use-cases/tuning/suggest-trials.ts';
import type { Mechanism } from './world-faults.ts';

type Has = (mechanism: Mechanism) => boolean;

/**
 * A store for one suggestion request, by which the request seems to be the one that the tuning waits for, and its event
 * to be new.
 */
function withoutSuggestionFence(tunings: TuningStore, from: number, requestId: number): TuningStore {
  return {
    ...tunings,
    async read(tuningId) {
      const stored = await tunings.read(tuningId);
      const tuning = stored?.record;
      return stored !== undefined && tuning?.status === 'SEARCHING' && tuning.asked !== null
        ? { ...stored, record: { ...tuning, asked: { ...tuning.asked, from } } }
        : stored;
    },
    commit: (change) => tunings.commit({ ...change, eventId: `${change.eventId}#${requestId}` }),
  };
}

/** A store in which no trial is under way: as if the values of free slots were asked for one by one. */
function withoutPendingTrials(tunings: TuningStore): TuningStore {
  return {
    ...tunings,
    async listTrials(tuningId, page) {
      const trials = await tunings.listTrials(tuningId, page);
      return trials.filter(({ outcome }) => outcome !== null);
    },
  };
}

/** The stage `tuning`: handles messages of its topic, and knows which of them were published before. */
export function createTuningStage(
  ports: () => ReportTrialPorts,
  { now, has }: { readonly now: () => number; readonly has: Has },
) {
  const published = new Set<string>();
  let requests = 0;

  function suggestionPorts(from: number): ReportTrialPorts {
    const { tunings, ...others } = ports();
    requests += 1;
    const fenced = has('suggestionFence') ? tunings : withoutSuggestionFence(tunings, from, requests);
    return { ...others, tunings: has('pendingTrials') ? fenced : withoutPendingTrials(fenced) };
  }

  return {
    /** Whether the message is published at all: some are not without their mechanism. */
    isPublished(message: TuningMessage): boolean {
      const key = JSON.stringify(message);
      const isRepeated = published.has(key);
      published.add(key);
      switch (message.type) {
        case 'SUGGEST':
          return has('repeatedSuggestions') || !isRepeated;
        case 'START_TRIAL':
          return has('repeatedStarts') || !isRepeated;
        case 'REPORT_TRIAL':
          return has('trialReports');
        default:
          return true;
      }
    },
    /** Parses the message as its function does. */
    async handle(data: object): Promise<void> {
      const message = tuningMessageSchema.parse(data);
      switch (message.type) {
        case 'SUGGEST':
          return suggestTrials(suggestionPorts(message.from), message, now());
        case 'START_TRIAL':
          return startTrial(ports(), message, now());
        case 'STOP_TRIAL':
          return stopTrial(ports(), message, now());
        case 'REPORT_TRIAL':
          return reportTrial(ports(), message, now());
        case 'REPORT_RUNG':
          return reportRung(ports(), message, now());
      }
    },
  };
}
