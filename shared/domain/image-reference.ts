/** A container image as it is named, with Docker's defaults applied. */
export type ImageReference = {
  /** `docker.io`, `us-docker.pkg.dev`, `localhost:5000`; lowercase. */
  readonly host: string;
  /** `library/python`, `my-project/trainers/digits`. */
  readonly repository: string;
  /** Null if only a digest is given. */
  readonly tag: string | null;
  /** `sha256:…`; it decides, whatever the tag. */
  readonly digest: string | null;
};

const REFERENCE_CHARACTERS_MAX = 512;

/**
 * The reference grammar of Docker's "distribution". The first part is a host if it has a dot or a port, or is
 * `localhost`. Extended: the project in a path of Google's registries may contain a colon, as in
 * `gcr.io/example.com:project/image`, which their API names with a slash.
 */
const HOST_PATTERN = /^([a-z0-9-]+(\.[a-z0-9-]+)+(:\d{1,5})?|localhost(:\d{1,5})?|[a-z0-9-]+:\d{1,5})$/i;
const PART_PATTERN = /^[a-z0-9][a-z0-9._-]*$/;
const PROJECT_PATTERN = /^[a-z0-9][a-z0-9.-]*:[a-z0-9-]+$/;
const TAG_PATTERN = /^\w[\w.-]{0,127}$/;
const DIGEST_PATTERN = /^sha256:[0-9a-f]{64}$/;

const PORT_MAX = 65_535;

const DOCKER_HUB = 'docker.io';
const DOCKER_HUB_HOSTS: ReadonlySet<string> = new Set([DOCKER_HUB, 'index.docker.io', 'registry-1.docker.io']);

/** Parses `ubuntu`, `ghcr.io/owner/name:tag` and the like; undefined if the text is not a valid reference. */
export function parseImageReference(text: string): ImageReference | undefined {
  if (text.length > REFERENCE_CHARACTERS_MAX) {
    return undefined;
  }
  const [name = '', digest = null, ...more] = text.split('@');
  const [first = '', ...others] = name.split('/');
  const hasHost = others.length > 0 && HOST_PATTERN.test(first) && Number(first.split(':')[1] ?? 0) <= PORT_MAX;
  const path = hasHost ? others : [first, ...others];
  const [last = '', tag = null, ...further] = (path.at(-1) ?? '').split(':');
  const parts = [...path.slice(0, -1), last];
  const isValid =
    more.length + further.length === 0 &&
    parts.every((part, index) => PART_PATTERN.test(part) || (hasHost && index === 0 && PROJECT_PATTERN.test(part))) &&
    (tag === null || TAG_PATTERN.test(tag)) &&
    (digest === null || DIGEST_PATTERN.test(digest));
  if (!isValid) {
    return undefined;
  }
  const written = hasHost ? first.toLowerCase() : DOCKER_HUB;
  const host = DOCKER_HUB_HOSTS.has(written) ? DOCKER_HUB : written;
  const repository = parts.join('/').replaceAll(':', '/');
  return {
    host,
    repository: host === DOCKER_HUB && !repository.includes('/') ? `library/${repository}` : repository,
    tag: tag ?? (digest === null ? 'latest' : null),
    digest,
  };
}

/** `host/repository@sha256:…`: names the same bytes at any time. */
export function pinnedUriOf({ host, repository }: ImageReference, digest: string): string {
  return `${host}/${repository}@${digest}`;
}

/** Whether Google's service accounts are known to the registry: Artifact Registry, and gcr.io, which it serves. */
export function isGoogleRegistry(host: string): boolean {
  return /^[a-z0-9-]+-docker\.pkg\.dev$/.test(host) || /^([a-z0-9-]+\.)?gcr\.io$/.test(host);
}
