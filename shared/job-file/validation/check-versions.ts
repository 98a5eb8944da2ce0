import { runtimeVersionOf } from '#shared/catalog/executor-images.ts';
import { type JobDraft, masterOf } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, type Located, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';
import { checkImage } from '#shared/job-file/validation/check-container.ts';

/** AI Platform's are like 2.11; here they select a machine image and may contain letters. */
const RUNTIME_VERSION_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

const PYTHON_VERSION_PATTERN = /^\d\.\d{1,2}$/;

/**
 * The runtime version, as given or as implied by Vertex AI's executor image; null if it is invalid. Whether a machine
 * image exists for it is not checked here.
 */
export function checkRuntimeVersion(draft: JobDraft, versionDefault: string, findings: Findings): string | null {
  const { runtimeVersion } = draft;
  const { executorImageUri } = masterOf(draft).program;
  warnOfOtherExecutors(draft, executorImageUri?.value, findings);
  if (runtimeVersion === undefined) {
    return executorImageUri === undefined
      ? versionDefault
      : checkExecutorImage(executorImageUri, versionDefault, findings);
  }
  if (RUNTIME_VERSION_PATTERN.test(runtimeVersion.value)) {
    return runtimeVersion.value;
  }
  const message = `${quote(runtimeVersion.value)} is not a valid runtime version.`;
  const remedy = `Write a version such as ${versionDefault}, or remove it.`;
  reportInvalid(runtimeVersion, { code: 'INVALID_RUNTIME_VERSION', message, remedy }, findings);
  return null;
}

function checkExecutorImage(image: Located<string>, versionDefault: string, findings: Findings): string | null {
  if (checkImage(image, findings) === null) {
    return null;
  }
  const version = runtimeVersionOf(image.value);
  if (version === undefined) {
    const message = `The runtime version of the executor image ${quote(image.value)} is unknown: the package is installed in runtime version ${versionDefault}, not in this image.`;
    const remedy =
      "Use one of Vertex AI's prebuilt training images, or set the runtime version when submitting the job. To run the package in the image itself, write the job with image, packages and module (docs/containers.md).";
    findings.warnings.push({ code: 'EXECUTOR_IMAGE_UNKNOWN', message, remedy, ...locationOf(image) });
  }
  return version ?? versionDefault;
}

/** All VMs of a job boot from the same machine image. */
function warnOfOtherExecutors({ pools }: JobDraft, ofMaster: string | undefined, findings: Findings): void {
  for (const { program } of pools.slice(1)) {
    const image = program.executorImageUri;
    if (image !== undefined && image.value !== ofMaster) {
      const message = `${image.path} has no effect: all replicas use the runtime of the first pool.`;
      const remedy = 'Use the same image in all pools.';
      findings.warnings.push({ code: 'FIELD_WITHOUT_EFFECT', message, remedy, ...locationOf(image) });
    }
  }
}

/** The Python version; null if missing or invalid. */
export function checkPythonVersion({ pythonVersion }: JobDraft, findings: Findings): string | null {
  if (pythonVersion === undefined) {
    return null;
  }
  if (!PYTHON_VERSION_PATTERN.test(pythonVersion.value)) {
    const message = `${quote(pythonVersion.value)} is not a valid Python version.`;
    const remedy = 'Write the major and minor version in quotes, such as "3.11", or remove it.';
    reportInvalid(pythonVersion, { code: 'INVALID_PYTHON_VERSION', message, remedy }, findings);
    return null;
  }
  if (pythonVersion.value.startsWith('2.')) {
    const message = "Python 2 is no longer available: the program runs with the machine image's Python 3.";
    findings.warnings.push({
      code: 'PYTHON_2',
      message,
      remedy: 'Make sure that the program runs with Python 3, and write its version.',
      ...locationOf(pythonVersion),
    });
  }
  return pythonVersion.value;
}
