import { Icon } from '#dashboard/components/icon.tsx';
import { formatBytes } from '#dashboard/format/format-number.ts';
import { setQuery } from '#dashboard/navigation/location.ts';
import { addressOfFile, fileNameOf } from '#dashboard/screens/job/profile/profile-file.ts';
import type { ProfileList as Listed } from '#shared/protocol/profile-view.ts';

type Props = {
  readonly profiles: Listed['profiles'];
  /** Of the job in the API. */
  readonly path: string;
  readonly chosen: string;
};

/** The profiles in the job directory, newest first. */
export function ProfileList({ profiles, path, chosen }: Props) {
  return (
    <section class="card table-scroll" aria-label="Profiles">
      <header class="section-header">
        <h2>Profiles</h2>
      </header>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Profile</th>
            <th scope="col" class="number">
              Size
            </th>
            <th scope="col">
              <span class="visually-hidden">Download</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {profiles.map(({ profileId, file }) => (
            <tr key={profileId} class={profileId === chosen ? 'row-chosen' : ''}>
              <td>
                <button
                  type="button"
                  class="text-button user-text"
                  aria-pressed={profileId === chosen}
                  onClick={() => setQuery({ profile: profileId })}
                >
                  {profileId}
                </button>
              </td>
              <td class="number">{file === null ? '' : formatBytes(file.sizeBytes)}</td>
              <td class="number">
                {file !== null && (
                  <a
                    class="icon-button"
                    href={addressOfFile(file, path)}
                    download={fileNameOf(file)}
                    aria-label={`Download ${profileId} as a speedscope file`}
                  >
                    <Icon name="download" />
                  </a>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
