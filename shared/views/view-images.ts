import type { JobSpec, PinnedImage } from '#shared/domain/job-spec.ts';
import type { Role } from '#shared/domain/replica-name.ts';
import type { ImageView } from '#shared/protocol/job-view.ts';

/** The pinned images of a job, those of each group in the order of the groups. */
export function viewImages({ program, replicaGroups }: Pick<JobSpec, 'program' | 'replicaGroups'>): ImageView[] {
  return replicaGroups.flatMap((group) => {
    const own = group.program ?? program;
    return own.kind === 'CONTAINER' && own.image !== null ? [viewImage({ ...own, ...group, image: own.image })] : [];
  });
}

type RunImage = { readonly role: Role; readonly imageUri: string; readonly image: PinnedImage };

function viewImage({ role, imageUri, image }: RunImage): ImageView {
  const { uri, sizeBytes, platform } = image;
  return { role, requested: imageUri, digest: uri.slice(uri.indexOf('@') + 1), sizeBytes, platform: platform ?? null };
}
