import { formatBytes } from '#shared/text/format-number.ts';

/** The part of a digest's 64 characters that registries and engines show. */
const DIGEST_CHARACTERS_SHOWN = 12;

type PinnedGroup = {
  readonly role: string;
  readonly requested: string;
  readonly digest: string;
  readonly sizeBytes: number;
  readonly platform: string | null;
};

/** An image, with all groups that run it. */
export type ImageFact = {
  readonly roles: readonly string[];
  readonly requested: string;
  /** `sha256:0123456789ab` */
  readonly digest: string;
  /** Compressed size and platform: `48.1 MiB compressed, linux/amd64`. */
  readonly details: string;
};

/** The different images of a job, each with the groups that run it. */
export function describeImages(images: readonly PinnedGroup[]): readonly ImageFact[] {
  const keyOf = ({ requested, digest }: PinnedGroup) => `${requested} ${digest}`;
  const groups = Map.groupBy(images, keyOf);
  return [...groups.values()].flatMap((same) => {
    const [first] = same;
    if (first === undefined) {
      return [];
    }
    const { requested, digest, sizeBytes, platform } = first;
    const [algorithm = '', value = ''] = digest.split(':');
    return {
      roles: same.map(({ role }) => role),
      requested,
      digest: `${algorithm}:${value.slice(0, DIGEST_CHARACTERS_SHOWN)}`,
      details: `${formatBytes(sizeBytes)} compressed${platform === null ? '' : `, ${platform}`}`,
    };
  });
}

/** `python:3.12 is sha256:0123456789ab, 48.1 MiB compressed, linux/amd64`; '' for none. */
export function formatImages(images: readonly PinnedGroup[]): string {
  const facts = describeImages(images);
  return facts
    .map(({ roles, requested, digest, details }) => {
      const text = `${requested} is ${digest}, ${details}`;
      return facts.length === 1 ? text : `${text} (${roles.join(', ')})`;
    })
    .join('; ');
}
