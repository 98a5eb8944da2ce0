import { needsGpu } from '#shared/package/lint/check-gpu-builds.ts';
import type { LintSubject } from '#shared/package/lint/lint-subject.ts';
import type { LintFinding } from '#shared/package/lint/package-checks.ts';
import { FRAMEWORKS, isStandardModule, MODULES_WITHOUT_GPU, TABULAR_MODULES } from '#shared/python/python-packages.ts';

/**
 * - GPU_NOT_USED: warning if a machine has a GPU, and the sources import libraries for tables (scikit-learn, pandas,
 *   XGBoost …) and otherwise only modules that never use a GPU, and none of them mentions one, not even in a comment.
 * - GPU_ADVISED: hint if no machine has a GPU, and the sources train convolutions, attention or a pretrained model.
 */
export function checkGpuUse(subject: LintSubject): LintFinding[] {
  const { isWholeProgram, isTpuJob, gpuCount, imports, requirements, packages } = subject;
  if (!isWholeProgram || isTpuJob) {
    return [];
  }
  const traits = new Set(packages.flatMap(({ evidence }) => [...evidence.traits]));
  if (gpuCount === 0) {
    const isDeep = [...imports].some((name) => FRAMEWORKS.has(name)) && traits.has('DEEP_LAYER');
    return isDeep && traits.has('TRAINING') ? [ADVISED] : [];
  }
  const own = new Set(packages.flatMap(({ pythonModules }) => pythonModules.flatMap((name) => name.split('.'))));
  const outside = [...imports].filter((name) => !isStandardModule(name, null) && !own.has(name));
  const tabular = outside.filter((name) => TABULAR_MODULES.has(name));
  const others = outside.filter((name) => !TABULAR_MODULES.has(name) && !MODULES_WITHOUT_GPU.has(name));
  const mayUse = traits.has('GPU_MENTION') || traits.has('INSTALLS') || requirements.some(needsGpu);
  return tabular.length === 0 || others.length > 0 || mayUse ? [] : [unusedOf(tabular, subject)];
}

const ADVISED: LintFinding = {
  code: 'GPU_ADVISED',
  severity: 'HINT',
  message: 'The sources train a deep network, and no machine has a GPU: the training runs on the CPU.',
  remedy: 'If it takes too long, request a GPU, such as one T4.',
};

function unusedOf(tabular: readonly string[], { gpuPerHourUsd }: LintSubject): LintFinding {
  const price = gpuPerHourUsd === null ? '' : `, which cost $${gpuPerHourUsd.toFixed(2)} an hour`;
  return {
    code: 'GPU_NOT_USED',
    severity: 'WARNING',
    message: `The machines have GPUs${price}, but the sources import ${tabular.slice(0, 3).join(', ')} and nothing that uses one.`,
    remedy: 'Remove the accelerators from the job. XGBoost uses one with device="cuda", CatBoost with task_type="GPU".',
  };
}
