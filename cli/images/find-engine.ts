import { Failure } from '#cli/core/failure.ts';
import { runTool } from '#cli/images/run-tool.ts';
import { CONTAINER_ENGINES, type ContainerEngine, ENGINE_PROBES } from '#infra/embedded/container-engine.ts';

const ANSWER_MS_MAX = 20_000;

/** The engine that was asked for, or the first that answers: `docker` may be installed without its daemon. */
export async function findLocalEngine(
  wanted: ContainerEngine | undefined,
  signal: AbortSignal,
): Promise<ContainerEngine> {
  for (const engine of wanted === undefined ? CONTAINER_ENGINES : [wanted]) {
    if (await answers(engine, signal)) {
      return engine;
    }
  }
  const remedy =
    'Install and start Docker or Podman, or build with Cloud Build: --deployment FILE, or --engine cloud-build.';
  throw new Failure(
    wanted === undefined
      ? `Neither Docker nor Podman answers on this machine. ${remedy}`
      : `${wanted} does not answer: \`${wanted} info\` shows why. ${remedy}`,
  );
}

async function answers(engine: ContainerEngine, signal: AbortSignal): Promise<boolean> {
  const argv = [engine, ...ENGINE_PROBES[engine]];
  const result = await runTool(argv, { signal, timeoutMs: ANSWER_MS_MAX });
  return result?.code === 0 && result.stdout.trim() !== '';
}
