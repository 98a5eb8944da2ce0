import type { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { authorize } from '#shared/api/authorize.ts';
import { errorResponse, readRequested } from '#shared/api/request.ts';
import type { Job } from '#shared/domain/job.ts';
import { PROFILE_ID_CHARS_MAX, PROFILE_SECONDS_MAX } from '#shared/domain/profile.ts';
import type { Clock } from '#shared/ports/clock.ts';
import type { TuningStore } from '#shared/ports/tuning-store.ts';
import { profileRequestSchema } from '#shared/protocol/profile-view.ts';
import { listProfiles, type ReadProfilePorts, readProfile } from '#shared/use-cases/profile/read-profile.ts';
import { type ProfilePorts, requestProfile } from '#shared/use-cases/profile/request-profile.ts';

export type ProfileRoutePorts = ProfilePorts &
  ReadProfilePorts & { readonly tunings: TuningStore; readonly clock: Clock };

const BODY_BYTES_MAX = 4_096;
const PROFILE_ID = new RegExp(`^[a-z0-9-]{1,${PROFILE_ID_CHARS_MAX}}$`);

/** Profiles of running programs: a request, its progress, and the verdict on what was recorded. */
export function routeProfiles(app: Hono, ports: ProfileRoutePorts): void {
  app.post('/v1/jobs/:target{.+:profile}', bodyLimit({ maxSize: BODY_BYTES_MAX }), async (context) => {
    const job = await readJob(ports, context.req.param('target').replace(/:profile$/, ''));
    authorize(context, job, 'PROFILE');
    const wanted = profileRequestSchema.safeParse(await context.req.json().catch(() => ({})));
    if (!wanted.success) {
      const remedy = `Send {"seconds": 30, "replica": "master-0"}, with 1 to ${PROFILE_SECONDS_MAX} seconds.`;
      throw errorResponse(400, 'The body is not a valid request for a profile.', remedy);
    }
    const at = ports.clock.now();
    const requested = await requestProfile(ports, job, { ...wanted.data, at });
    if (requested.outcome === 'REFUSED') {
      throw errorResponse(400, requested.message, requested.remedy);
    }
    return context.json(
      await readProfile(ports, { job: requested.job, profileId: requested.request.requestId, now: at }),
    );
  });

  app.get('/v1/jobs/:jobId/profiles', async (context) => {
    const job = await readJob(ports, context.req.param('jobId'));
    authorize(context, job, 'READ_FILES');
    return context.json(await listProfiles(ports, job));
  });

  app.get('/v1/jobs/:jobId/profiles/:profileId', async (context) => {
    const job = await readJob(ports, context.req.param('jobId'));
    authorize(context, job, 'READ_FILES');
    const profileId = context.req.param('profileId');
    const isValid = PROFILE_ID.test(profileId);
    const view = isValid ? await readProfile(ports, { job, profileId, now: ports.clock.now() }) : undefined;
    if (view === undefined) {
      const remedy =
        'A profile that a newer one replaced before it was saved, or an attempt that has ended, leaves none.';
      throw errorResponse(404, `Job ${job.jobId} has no profile ${profileId}.`, remedy);
    }
    return context.json(view);
  });
}

async function readJob(ports: ProfileRoutePorts, given: string): Promise<Job> {
  const submitted = await readRequested(ports, given);
  if ('tuningId' in submitted) {
    const remedy = `Profile one of its trials: dropforge trials ${submitted.tuningId} lists them with their jobs.`;
    throw errorResponse(400, `Job ${submitted.tuningId} tunes hyperparameters and runs no program itself.`, remedy);
  }
  return submitted;
}
