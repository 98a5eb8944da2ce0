import { readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '#cli/core/failure.ts';
import { explainFailure } from '#cli/images/explain-failure.ts';
import { type BuiltImage, type ImageTag, PLATFORM } from '#cli/images/image-tag.ts';
import { killBuildSteps } from '#cli/images/kill-build-steps.ts';
import { PIP_SECRET, type PipConfiguration } from '#cli/images/pip-configuration.ts';
import { runTool, type ToolResult } from '#cli/images/run-tool.ts';
import { STAGED } from '#cli/images/stage-context.ts';
import type { ContainerEngine } from '#infra/embedded/container-engine.ts';

export type BuildRequest = {
  readonly folder: string;
  readonly tag: ImageTag;
  /** Options of the engine's `build`, such as `--build-arg`. */
  readonly options: readonly string[];
  /** pip's configuration while a generated Dockerfile installs packages; null for that of the image. */
  readonly pip: PipConfiguration | null;
  readonly signal: AbortSignal;
  readonly onLine: ((line: string) => void) | undefined;
};

const INSPECT_MS_MAX = 60_000;
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/;

/** Builds a staged folder with the engine of this machine and, if requested, pushes the image. */
export async function buildLocally(
  engine: ContainerEngine,
  request: BuildRequest & { readonly isPushed: boolean },
): Promise<BuiltImage> {
  const { folder, tag, options } = request;
  const dockerfile = join(folder, STAGED.dockerfile);
  // Otherwise Docker's own builder, without BuildKit, keeps the container of a RUN that failed or was interrupted.
  const argv = ['build', '--force-rm', '--platform', PLATFORM, '--tag', tag.text, '--file', dockerfile];
  const secrets = await addSecrets(request);
  await run(engine, [...argv, ...secrets, ...options, join(folder, STAGED.context)], {
    ...request,
    what: `The image ${tag.text} was not built`,
    // Docker's own builder has no secrets.
    prefix: engine === 'docker' && secrets.length > 0 ? ['env', 'DOCKER_BUILDKIT=1'] : [],
  });
  await rejectOtherPlatform(engine, request);
  const digest = request.isPushed ? await push(engine, request) : null;
  return { engine, digest };
}

/** A link, since the option cannot name every path, and so that no copy of the file is left. */
async function addSecrets({ folder, pip }: BuildRequest): Promise<readonly string[]> {
  if (pip?.kind !== 'FILE') {
    return [];
  }
  const link = join(folder, 'pip.conf');
  await symlink(pip.path, link);
  return ['--secret', `id=${PIP_SECRET.id},src=${link}`];
}

/** Builders ignore `--platform` for an image of FROM that exists for one platform only. */
async function rejectOtherPlatform(engine: ContainerEngine, { tag, signal }: BuildRequest): Promise<void> {
  const argv = [engine, 'image', 'inspect', '--format', '{{.Os}}/{{.Architecture}}', tag.text];
  const platform = (await runTool(argv, { signal, timeoutMs: INSPECT_MS_MAX }))?.stdout.trim() ?? '';
  if (platform !== PLATFORM) {
    throw new Failure(
      `The image ${tag.text} is for ${platform || 'an unknown platform'}, and VMs run ${PLATFORM}. Use an image of FROM that exists for ${PLATFORM}.`,
    );
  }
}

async function push(engine: ContainerEngine, request: BuildRequest): Promise<string> {
  const { tag, folder } = request;
  const digestFile = join(folder, 'digest');
  // Docker expects no TLS of a registry on this machine.
  const plain = LOOPBACK.test(tag.host) ? ['--tls-verify=false'] : [];
  const options = engine === 'podman' ? ['--digestfile', digestFile, ...plain] : [];
  const what = `The image ${tag.text} was built and not pushed`;
  const { lastLines } = await run(engine, ['push', ...options, tag.text], { ...request, what });
  const text = engine === 'podman' ? await readFile(digestFile, 'utf8') : lastLines.join('\n');
  const digest = /sha256:[0-9a-f]{64}/.exec(text.slice(Math.max(0, text.lastIndexOf('sha256:'))))?.[0];
  if (digest === undefined) {
    throw new Failure(`${engine} pushed ${tag.text} and printed no digest. Update ${engine}, and push again.`);
  }
  return digest;
}

async function run(
  engine: ContainerEngine,
  args: readonly string[],
  { what, tag, signal, onLine, prefix = [] }: BuildRequest & { readonly what: string; readonly prefix?: string[] },
): Promise<ToolResult> {
  const beforeEnd = engine === 'podman' ? killBuildSteps : undefined;
  const result = await runTool([...prefix, engine, ...args], { signal, onLine, beforeEnd });
  if (result?.code !== 0) {
    const lines = result?.lastLines ?? [`${engine} could not be started.`];
    throw explainFailure(what, lines, { host: tag.host, areShown: onLine !== undefined && result !== undefined });
  }
  return result;
}
