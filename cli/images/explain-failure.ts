import { Failure } from '#cli/core/failure.ts';

type Explanation = { readonly pattern: RegExp; readonly remedy: (host: string) => string };

const LAST_LINES = 15;

/** What engines, registries and pip say, and what to do. The first that matches is the most specific. */
const EXPLANATIONS: readonly Explanation[] = [
  {
    pattern: /buildx component is missing|(?:--mount|--secret) (?:option )?requires BuildKit/i,
    remedy: () =>
      'Only BuildKit keeps the configuration of pip out of the image: install its plugin (docker.com: `docker-buildx-plugin`, Debian: `docker-buildx`), or build with --engine podman.',
  },
  {
    pattern: /no space left on device/i,
    remedy: () => 'The disk is full: remove images that are not used (`docker system prune`, `podman system prune`).',
  },
  {
    pattern: /toomanyrequests|rate limit/i,
    remedy: () =>
      'Docker Hub limits anonymous pulls: log in with `docker login`, or use a mirror: --base-image mirror.gcr.io/library/python:3.12-bookworm.',
  },
  {
    pattern: /exec format error|exec user process caused/i,
    remedy: () =>
      'VMs are linux/amd64 and this machine is not: install its emulation (`docker run --privileged --rm tonistiigi/binfmt --install amd64`), or use --engine cloud-build.',
  },
  {
    pattern: /iam\.serviceAccounts\.actAs/,
    remedy: () =>
      'The build runs as a service account that you may not use: ask for roles/iam.serviceAccountUser on it, or name another with --service-account.',
  },
  {
    pattern: /gserviceaccount\.com does not have storage\./,
    remedy: () =>
      "The build's service account cannot read the sources: grant it roles/cloudbuild.builds.builder, or name another with --service-account.",
  },
  {
    pattern: /\(gcloud\.builds\.\w+\)[^\n]*(?:PERMISSION_DENIED|permission|forbidden)/,
    remedy: () =>
      'You may not use Cloud Build in this project: ask for roles/cloudbuild.builds.editor, roles/serviceusage.serviceUsageConsumer and roles/storage.admin, which the bucket of the sources requires.',
  },
  {
    pattern: /Repository "[^"]*" not found|NAME_UNKNOWN|name unknown/i,
    remedy: () =>
      'The repository does not exist: create it with `gcloud artifacts repositories create NAME --repository-format=docker --location=LOCATION`.',
  },
  {
    pattern:
      /unauthorized|authentication required|denied|forbidden|no basic auth credentials|invalid username\/password/i,
    remedy: (host) =>
      /(?:^|\.)(?:pkg\.dev|gcr\.io)$/.test(host)
        ? `The registry rejects these credentials: run \`gcloud auth configure-docker ${host}\`, and ask for the role roles/artifactregistry.writer on the repository.`
        : `The registry rejects these credentials: run \`docker login ${host}\` or \`podman login ${host}\`.`,
  },
  {
    pattern: /manifest unknown|manifest for .* not found|not found: manifest|no such image/i,
    remedy: () => 'An image of FROM does not exist: correct the Dockerfile or --base-image.',
  },
  {
    pattern: /No matching distribution found|Could not find a version that satisfies/i,
    remedy: () => 'A requirement has no version for this Python: correct it, or choose another --runtime.',
  },
  {
    pattern: /server gave HTTP response to HTTPS client/i,
    remedy: (host) =>
      `The registry has no TLS. Give it a certificate, or list ${host || 'it'} in \`insecure-registries\` of Docker's daemon.json, or as \`insecure\` in Podman's registries.conf.`,
  },
  {
    pattern:
      /no such host|connection refused|dial tcp|i\/o timeout|Temporary failure in name resolution|NewConnectionError/i,
    remedy: () => 'A server cannot be reached from the build: check its name and the network of this machine.',
  },
  {
    pattern: /COPY failed|failed to compute cache key|no such file or directory/i,
    remedy: () => 'A file that the Dockerfile copies is not sent to the build: check its path and .dockerignore.',
  },
];

type Context = {
  /** Of the registry; '' if there is none. */
  readonly host: string;
  /** Whether the user has seen the output already. */
  readonly areShown?: boolean;
};

/** The failure of a build or a push, with what to do, and the last lines of its output unless the user has seen them. */
export function explainFailure(what: string, lines: readonly string[], { host, areShown = false }: Context): Failure {
  const shown = lines
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
    .slice(-LAST_LINES);
  const text = shown.join('\n');
  const found = EXPLANATIONS.find(({ pattern }) => pattern.test(text));
  const remedy = found?.remedy(host) ?? 'Correct what the lines above say, and build again.';
  return new Failure(
    areShown ? `${what}. ${remedy}` : [`${what}:`, ...shown.map((line) => `  ${line}`), remedy].join('\n'),
  );
}
