import { Failure } from '#cli/core/failure.ts';
import { runTool } from '#cli/images/run-tool.ts';

export const LOCAL_ENGINES = ['docker', 'podman'] as const;

export type LocalEngine = (typeof LOCAL_ENGINES)[number];

const ANSWER_MS_MAX = 20_000;

const VERSION_FIELDS = { docker: '{{.ServerVersion}}', podman: '{{.Version.Version}}' } as const;

/** The engine that was asked for, or the first that answers: `docker` may be installed without its daemon. */
export async function findLocalEngine(wanted: LocalEngine | undefined, signal: AbortSignal): Promise<LocalEngine> {
  for (const engine of wanted === undefined ? LOCAL_ENGINES : [wanted]) {
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

async function answers(engine: LocalEngine, signal: AbortSignal): Promise<boolean> {
  const argv = [engine, 'info', '--format', VERSION_FIELDS[engine]];
  const result = await runTool(argv, { signal, timeoutMs: ANSWER_MS_MAX });
  return result?.code === 0 && result.stdout.trim() !== '';
}
