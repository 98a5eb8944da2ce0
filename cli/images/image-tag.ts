import { UsageFailure } from '#cli/core/failure.ts';
import { readImage } from '#cli/images/choose-base.ts';

/** What VMs of the default runtimes run. */
export const PLATFORM = 'linux/amd64';

export type ImageTag = {
  readonly text: string;
  /** Without tag: what a digest is appended to. */
  readonly name: string;
  /** The registry's host; '' if the name has none. */
  readonly host: string;
};

export type BuiltImage = {
  readonly engine: 'docker' | 'podman' | 'cloud-build';
  /** `sha256:…`, which the registry knows it by; null if it was not pushed. */
  readonly digest: string | null;
};

/** Parses `--tag`. Throws UsageFailure if it is missing or not valid, or a digest, which only a build can decide. */
export function readTag(text: string | undefined): ImageTag {
  if (text === undefined || text === '') {
    throw new UsageFailure('--tag is missing: name the image, such as us-docker.pkg.dev/my-project/trainers/digits:1.');
  }
  readImage('--tag', text);
  if (text.includes('@')) {
    throw new UsageFailure(`--tag ${text} contains a digest, which is known only after the build. Remove it.`);
  }
  const [first = '', ...others] = text.split('/');
  const hasHost = others.length > 0 && /[.:]|^localhost$/.test(first);
  const last = text.slice(text.lastIndexOf('/') + 1);
  const name = text.slice(0, text.length - last.length) + (last.split(':')[0] ?? '');
  return { text, name, host: hasHost ? first : '' };
}
