import { text } from 'node:stream/consumers';
import { classifyProfile } from '#shared/diagnosis/profile/classify-profile.ts';
import type { Job, TimestampMs } from '#shared/domain/job.ts';
import { type ProfileRequest, profileStateOf } from '#shared/domain/profile.ts';
import type { ObjectInfo, ObjectStore } from '#shared/ports/object-store.ts';
import { parseGsUri, toGsUri } from '#shared/protocol/gs-uri.ts';
import { PROFILE_BYTES_MAX, parseProfileFile } from '#shared/protocol/profile-file.ts';
import { PROFILES_LISTED_MAX, type ProfileList, type ProfileView, viewVerdict } from '#shared/protocol/profile-view.ts';
import { type ProfilePorts, readReported } from '#shared/use-cases/profile/request-profile.ts';

export type ReadProfilePorts = {
  readonly replicas: ProfilePorts['replicas'];
  readonly objects: Pick<ObjectStore, 'stat' | 'read' | 'list'>;
};

const SUFFIX = '.speedscope.json';
/** More than one job may have recorded: a year of profiles, one a minute, is not listed. */
const OBJECTS_MAX = 1_000;

/** A profile with its verdict; undefined if there is none of that id. */
export async function readProfile(
  ports: ReadProfilePorts,
  { job, profileId, now }: { readonly job: Job; readonly profileId: string; readonly now: TimestampMs },
): Promise<ProfileView | undefined> {
  const request = job.status === 'RUNNING' && job.profile?.requestId === profileId ? job.profile : null;
  const progress = request === null ? null : await readProgress(ports, { job, request, now });
  const info = progress === null || progress.state === 'RECORDED' ? await stat(ports, job, profileId) : undefined;
  if (progress === null && info === undefined) {
    return undefined;
  }
  const head = { jobId: job.jobId, profileId, ...viewRequest(request) };
  if (info === undefined) {
    const isLost = progress?.state === 'RECORDED';
    const message = isLost ? 'The file of the profile was deleted.' : (progress?.message ?? '');
    return { ...head, state: isLost ? 'FAILED' : (progress?.state ?? 'FAILED'), message, file: null, verdict: null };
  }
  const file = viewFile(job, info);
  if (info.sizeBytes > PROFILE_BYTES_MAX) {
    const message = `The file of the profile has more than ${PROFILE_BYTES_MAX} bytes: it has no verdict.`;
    return { ...head, state: 'RECORDED', message, file, verdict: null };
  }
  const content = await ports.objects.read(info, { generation: info.generation });
  const samples = content === undefined ? undefined : parseProfileFile(await text(content));
  const message =
    samples === undefined ? 'The file is not a profile that Dropforge has recorded: it has no verdict.' : '';
  return {
    ...head,
    state: 'RECORDED',
    message,
    file,
    verdict: samples === undefined ? null : viewVerdict(classifyProfile(samples)),
  };
}

/** The profiles in the job directory, newest first. */
export async function listProfiles(ports: ReadProfilePorts, job: Job): Promise<ProfileList> {
  const { bucket, name } = objectOf(job, '');
  const infos = await ports.objects.list({ bucket, prefix: name, countMax: OBJECTS_MAX });
  const newest = infos
    .filter((info) => info.name.endsWith(SUFFIX))
    .sort((a, b) => b.updatedAt - a.updatedAt)
    .slice(0, PROFILES_LISTED_MAX);
  return {
    profiles: newest.map((info) => ({
      jobId: job.jobId,
      profileId: info.name.slice(name.length, -SUFFIX.length),
      ...viewRequest(null),
      state: 'RECORDED',
      message: '',
      file: viewFile(job, info),
    })),
  };
}

async function readProgress(
  ports: ReadProfilePorts,
  { job, request, now }: { readonly job: Job; readonly request: ProfileRequest; readonly now: TimestampMs },
) {
  const reported = job.status === 'RUNNING' ? await readReported(ports, job) : null;
  return profileStateOf(request, reported, now);
}

function stat({ objects }: ReadProfilePorts, job: Job, profileId: string): Promise<ObjectInfo | undefined> {
  return objects.stat(objectOf(job, `${profileId}${SUFFIX}`));
}

/** Below the job directory, which several jobs may share. */
function nameOf({ jobId }: Job, file: string): string {
  return `dropforge-profiles/${jobId}/${file}`;
}

function objectOf(job: Job, file: string) {
  const directory = parseGsUri(job.spec.jobDir);
  const name = nameOf(job, file);
  return { ...directory, name: directory.name === '' ? name : `${directory.name}/${name}` };
}

function viewFile(job: Job, info: ObjectInfo): NonNullable<ProfileView['file']> {
  const file = info.name.slice(info.name.lastIndexOf('/') + 1);
  return { uri: toGsUri(info), name: nameOf(job, file), sizeBytes: info.sizeBytes };
}

function viewRequest(request: ProfileRequest | null) {
  return {
    replica: request?.replica ?? null,
    seconds: request?.seconds ?? null,
    requestTime: request === null ? null : new Date(request.requestedAt).toISOString(),
  };
}
