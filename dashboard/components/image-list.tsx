import { CopyButton } from '#dashboard/components/copy-button.tsx';
import type { ImageView } from '#shared/protocol/job-view.ts';
import { describeImages } from '#shared/text/describe-images.ts';

/** The images of a job's containers, as they were found in their registries. */
export function ImageList({ images }: { readonly images: readonly ImageView[] }) {
  const facts = describeImages(images);
  return (
    <section class="card code-card" aria-label={facts.length === 1 ? 'Image' : 'Images'}>
      <header class="section-header">
        <h2>{facts.length === 1 ? 'Image' : 'Images'}</h2>
        <CopyButton text={images.map(({ digest }) => digest).join('\n')} label="Copy: digest" />
      </header>
      <ul class="packages">
        {facts.map(({ roles, requested, digest, details }) => (
          <li key={`${requested} ${digest}`}>
            <span class="mono user-text">{requested}</span>{' '}
            <span class="muted">
              is <span class="mono">{digest}</span>, {details}
              {facts.length > 1 && ` (${roles.join(', ')})`}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
