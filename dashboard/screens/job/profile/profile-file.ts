import type { ProfileView } from '#shared/protocol/profile-view.ts';

type ProfileFile = NonNullable<ProfileView['file']>;

/** Where the speedscope file is downloaded; `path` is that of the job in the API. */
export function addressOfFile({ name }: ProfileFile, path: string): string {
  return `${path}/files/content?name=${encodeURIComponent(name)}`;
}

/** Without its folder. */
export function fileNameOf({ name }: ProfileFile): string {
  return name.slice(name.lastIndexOf('/') + 1);
}
