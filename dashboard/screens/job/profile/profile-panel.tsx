import { useEffect, useState } from 'preact/hooks';
import { type ApiError, asApiError } from '#dashboard/client/api-error.ts';
import { postJson } from '#dashboard/client/request.ts';
import { useResource } from '#dashboard/client/use-resource.ts';
import { EmptyState } from '#dashboard/components/empty-state.tsx';
import { ErrorPanel } from '#dashboard/components/error-panel.tsx';
import { setQuery, useQuery } from '#dashboard/navigation/location.ts';
import { ProfileForm, type ProfileWanted } from '#dashboard/screens/job/profile/profile-form.tsx';
import { ProfileList } from '#dashboard/screens/job/profile/profile-list.tsx';
import { ProfileProgress } from '#dashboard/screens/job/profile/profile-progress.tsx';
import { ProfileVerdict } from '#dashboard/screens/job/profile/profile-verdict.tsx';
import type { ProfileList as Listed, ProfileView } from '#shared/protocol/profile-view.ts';
import type { JobView } from '#shared/protocol/report.ts';

/** How often a profile in progress is read. */
const POLL_MS = 1_000;

/** Records a profile of the program, follows it, and shows what it says and the earlier ones. */
export function ProfilePanel({ job }: { readonly job: JobView }) {
  // In the address, so that a reload and a link show the same profile.
  const chosen = useQuery().get('profile') ?? '';
  const path = `/v1/jobs/${encodeURIComponent(job.jobId)}`;
  const list = useResource<Listed>(`${path}/profiles`);
  const shown = useResource<ProfileView>(chosen === '' ? null : `${path}/profiles/${encodeURIComponent(chosen)}`);
  const view = shown.data;
  const isInProgress = view?.state === 'REQUESTED' || view?.state === 'RECORDING';
  useEffect(() => {
    if (!isInProgress) {
      return;
    }
    const timer = setInterval(shown.reload, POLL_MS);
    // A recorded profile is in the list.
    return () => {
      clearInterval(timer);
      list.reload();
    };
  }, [isInProgress, chosen]);
  const { error, isSent, request } = useRequest(path);
  const canProfile = job.state === 'RUNNING' && job.restriction === null;
  return (
    <div class="profile">
      {(canProfile || isInProgress) && (
        <ProfileForm job={job} isBusy={isSent || isInProgress} onRequest={(wanted) => void request(wanted)} />
      )}
      {error !== null && <ErrorPanel error={error} />}
      {shown.error !== null && <ErrorPanel error={shown.error} onRetry={shown.reload} />}
      {shown.error === null && view !== undefined && <Shown view={view} path={path} />}
      {list.error !== null && <ErrorPanel error={list.error} onRetry={list.reload} />}
      {list.data !== undefined && list.data.profiles.length > 0 && (
        <ProfileList profiles={list.data.profiles} path={path} chosen={chosen} />
      )}
      {list.data?.profiles.length === 0 && chosen === '' && <NoProfiles canProfile={canProfile} />}
    </div>
  );
}

function useRequest(path: string) {
  const [error, setError] = useState<ApiError | null>(null);
  const [isSent, setSent] = useState(false);
  const request = async (wanted: ProfileWanted) => {
    setSent(true);
    setError(null);
    try {
      const { profileId } = await postJson<ProfileView>(`${path}:profile`, wanted);
      setQuery({ profile: profileId });
    } catch (thrown) {
      setError(asApiError(thrown));
    }
    setSent(false);
  };
  return { error, isSent, request };
}

function Shown({ view, path }: { readonly view: ProfileView; readonly path: string }) {
  switch (view.state) {
    case 'REQUESTED':
    case 'RECORDING':
      return <ProfileProgress key={view.profileId} view={view} />;
    case 'RECORDED':
      return <ProfileVerdict view={view} path={path} />;
    case 'FAILED':
      return (
        <div class="error-panel" role="alert">
          <div>
            <p class="error-message">{view.profileId} could not be recorded.</p>
            <p class="error-remedy user-text">{view.message}</p>
          </div>
        </div>
      );
  }
}

function NoProfiles({ canProfile }: { readonly canProfile: boolean }) {
  return (
    <div class="card">
      <EmptyState title={canProfile ? 'No profiles yet' : 'No profiles'}>
        <p>
          A profile samples the stacks of the main Python process with py-spy, without stopping it, and says what limits
          the training: its input, Python code or the device.{!canProfile && ' It is recorded while the program runs.'}
        </p>
      </EmptyState>
    </div>
  );
}
