import { type Findings, placeOf } from '#shared/spec/findings.ts';
import type { JobDraft } from '#shared/spec/job-draft.ts';

/** AI Platform's are like 2.11; here they name a machine image, and so may have words in them. */
const RUNTIME_VERSION_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

const PYTHON_VERSION_PATTERN = /^\d\.\d{1,2}$/;

/** The runtime version; null where it is none, which is then among the findings. Whether there is an image for it, others say. */
export function checkRuntimeVersion(
  { runtimeVersion }: JobDraft,
  versionDefault: string,
  findings: Findings,
): string | null {
  if (runtimeVersion === undefined || RUNTIME_VERSION_PATTERN.test(runtimeVersion.value)) {
    return runtimeVersion?.value ?? versionDefault;
  }
  const message = `"${runtimeVersion.value}" is no runtime version.`;
  const remedy = `Write one such as ${versionDefault}, or leave it out.`;
  findings.problems.push({ code: 'INVALID_RUNTIME_VERSION', message, remedy, ...placeOf(runtimeVersion) });
  return null;
}

/** The Python version, null where none is said; a wrong one is among the findings. */
export function checkPythonVersion({ pythonVersion }: JobDraft, findings: Findings): string | null {
  if (pythonVersion === undefined) {
    return null;
  }
  if (!PYTHON_VERSION_PATTERN.test(pythonVersion.value)) {
    const message = `"${pythonVersion.value}" is no Python version.`;
    const remedy = 'Write two numbers in quotes, such as "3.11", or leave it out.';
    findings.problems.push({ code: 'INVALID_PYTHON_VERSION', message, remedy, ...placeOf(pythonVersion) });
    return null;
  }
  if (pythonVersion.value.startsWith('2.')) {
    const message = 'Python 2 is no longer to be had: the program runs on the Python 3 of the machine image.';
    findings.warnings.push({
      code: 'PYTHON_2',
      message,
      remedy: 'See that the program runs on Python 3, and write its version.',
      ...placeOf(pythonVersion),
    });
  }
  return pythonVersion.value;
}
