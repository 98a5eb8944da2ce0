import { Failure } from '#cli/core/failure.ts';
import { runTool } from '#cli/images/run-tool.ts';
import { CONTAINER_ENGINES, type ContainerEngine, ENGINE_PROBES } from '#infra/embedded/container-engine.ts';

const ANSWER_MS_MAX = 20_000;

/** The engine that was asked for, or the first that answers: `docker` may be installed without its daemon. */
export async function findLocalEngine(
  wanted: ContainerEngine | undefined,
  signal: AbortSignal,
): Promise<ContainerEngine> {
  const reasons: string[] = [];
  for (const engine of wanted === undefined ? CONTAINER_ENGINES : [wanted]) {
    const reason = await reasonOf(engine, signal);
    if (reason === null) {
      return engine;
    }
    reasons.push(reason);
  }
  // Of Docker's socket; to join its group is to be root.
  if (reasons.some((reason) => /permission denied.*docker/i.test(reason))) {
    throw new Failure(
      `This user may not use Docker (${reasons[0]}). Add it to the group docker (\`sudo usermod -aG docker NAME\`) and log in again, or install Podman, which needs no group.`,
    );
  }
  const remedy =
    'Install and start Docker or Podman, or build with Cloud Build: --deployment FILE, or --engine cloud-build.';
  throw new Failure(
    wanted === undefined
      ? `Neither Docker nor Podman answers on this machine. ${remedy}`
      : `${wanted} does not answer: \`${wanted} info\` shows why. ${remedy}`,
  );
}

/** Why an engine does not answer, in its own words; null if it does. */
async function reasonOf(engine: ContainerEngine, signal: AbortSignal): Promise<string | null> {
  const argv = [engine, ...ENGINE_PROBES[engine]];
  const result = await runTool(argv, { signal, timeoutMs: ANSWER_MS_MAX });
  const hasAnswered = result?.code === 0 && result.stdout.trim() !== '';
  return hasAnswered ? null : (result?.lastLines.findLast((line) => line.trim() !== '') ?? 'not installed');
}
