import type { ImageView } from '#shared/protocol/job-view.ts';
import { describeImages } from '#shared/text/describe-images.ts';

/** Formats pinned images: `python:3.12 is sha256:0123456789ab, 48.1 MiB compressed, linux/amd64`; '' for none. */
export function formatImages(images: readonly ImageView[]): string {
  const facts = describeImages(images);
  return facts
    .map(({ roles, requested, digest, details }) => {
      const text = `${requested} is ${digest}, ${details}`;
      return facts.length === 1 ? text : `${text} (${roles.join(', ')})`;
    })
    .join('; ');
}
