import { setTimeout as sleep } from 'node:timers/promises';
import type { Api } from '#cli/client/api-client.ts';
import { requestJson } from '#cli/client/request-json.ts';
import { Failure, NotFound, RetryableFailure } from '#cli/core/failure.ts';
import { type ProfileView, profileViewSchema } from '#shared/protocol/profile-view.ts';

export type ProfileWanted = {
  readonly jobId: string;
  readonly seconds: number;
  /** The master if undefined. */
  readonly replica: string | undefined;
};

type FollowOptions = {
  readonly signal: AbortSignal;
  /** Called with every view, also if nothing has changed. */
  readonly onView: (view: ProfileView) => void;
};

/** Consecutive retryable failures to tolerate. */
const RETRIES_MAX = 30;
const POLL_MS_MIN = 1_000;

/** Asks for a profile and polls it until it is recorded. Throws Failure if it could not be recorded. */
export async function recordProfile(api: Api, wanted: ProfileWanted, options: FollowOptions): Promise<ProfileView> {
  const { url, authorize, remedies, pollIntervals } = api;
  const { signal, onView } = options;
  const { jobId, seconds, replica } = wanted;
  const jobUrl = `${url}/v1/jobs/${encodeURIComponent(jobId)}`;
  const body = JSON.stringify({ seconds, ...(replica !== undefined && { replica }) });
  const headers = { ...(await authorize()), 'content-type': 'application/json' };
  let view = await requestJson(`${jobUrl}:profile`, profileViewSchema, {
    method: 'POST',
    body,
    signal,
    remedies,
    headers,
  });
  let retries = 0;
  for (;;) {
    onView(view);
    if (view.state === 'RECORDED') {
      return view;
    }
    if (view.state === 'FAILED') {
      throw new Failure(`Job ${jobId} could not be profiled. ${view.message}`);
    }
    await sleep(Math.max(POLL_MS_MIN, pollIntervals.initialMs), undefined, { signal });
    try {
      const profileUrl = `${jobUrl}/profiles/${view.profileId}`;
      view = await requestJson(profileUrl, profileViewSchema, { signal, remedies, headers: await authorize() });
      retries = 0;
    } catch (error) {
      retries += 1;
      if (error instanceof NotFound) {
        throw new Failure(
          `The attempt of job ${jobId} ended before its profile was saved. Profile it when it runs again.`,
        );
      }
      if (!(error instanceof RetryableFailure) || retries > RETRIES_MAX) {
        throw error;
      }
    }
  }
}
