import type { ApiClient } from '#cli/client/api-client.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import type { TrialView, TuningView } from '#shared/protocol/tuning-view.ts';

/** All trials of a tuning, in the order of their ids. */
export async function listTrials(api: ApiClient, tuningId: string): Promise<readonly TrialView[]> {
  const trials: TrialView[] = [];
  let pageToken: string | undefined;
  do {
    const page = await api.readTrials(tuningId, pageToken);
    trials.push(...page.trials);
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
  return trials;
}

/** Reads each trial of a tuning once, after it has ended. */
export type EndedTrials = {
  /** The trials that have ended since the last call, by their end. */
  read(job: JobView): Promise<readonly TrialView[]>;
};

/** Lost trials have ended, too; `endedTrialCount` omits them, because others repeat them. */
function endedCountOf({ counts: { succeeded, infeasible, failed, lost } }: TuningView): number {
  return succeeded + infeasible + failed + lost;
}

export function createEndedTrials(api: ApiClient): EndedTrials {
  const reported = new Set<string>();
  // The first page that can still have running trials: the pages before it are not read again.
  let firstPage: string | undefined;
  return {
    async read({ jobId, tuning }) {
      if (tuning === null || endedCountOf(tuning) === reported.size) {
        return [];
      }
      const ended: TrialView[] = [];
      let isComplete = true;
      let pageToken = firstPage;
      do {
        const page = await api.readTrials(jobId, pageToken);
        ended.push(...page.trials.filter(({ trialId, endTime }) => endTime !== null && !reported.has(trialId)));
        isComplete &&= page.trials.every(({ endTime }) => endTime !== null);
        pageToken = page.nextPageToken;
        if (isComplete && pageToken !== undefined) {
          firstPage = pageToken;
        }
      } while (pageToken !== undefined);
      for (const { trialId } of ended) {
        reported.add(trialId);
      }
      return ended.sort((a, b) => Date.parse(a.endTime ?? '') - Date.parse(b.endTime ?? ''));
    },
  };
}
