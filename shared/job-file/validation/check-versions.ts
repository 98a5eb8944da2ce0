import { runtimeVersionOf } from '#shared/catalog/executor-images.ts';
import { type JobDraft, masterOf } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, type Located, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';
import { checkImage } from '#shared/job-file/validation/check-container.ts';

/** AI Platform's are like 2.11; here they name a machine image, and so may have words in them. */
const RUNTIME_VERSION_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

const PYTHON_VERSION_PATTERN = /^\d\.\d{1,2}$/;

/**
 * The runtime version: as it is said, or that of the executor image of Vertex AI. Null where it is none, which is then
 * among the findings. Whether there is a machine image for it, others say.
 */
export function checkRuntimeVersion(draft: JobDraft, versionDefault: string, findings: Findings): string | null {
  const { runtimeVersion } = draft;
  const { executorImageUri } = masterOf(draft).program;
  noteOtherExecutors(draft, executorImageUri?.value, findings);
  if (runtimeVersion === undefined) {
    return executorImageUri === undefined
      ? versionDefault
      : checkExecutorImage(executorImageUri, versionDefault, findings);
  }
  if (RUNTIME_VERSION_PATTERN.test(runtimeVersion.value)) {
    return runtimeVersion.value;
  }
  const message = `${quote(runtimeVersion.value)} is no runtime version.`;
  const remedy = `Write one such as ${versionDefault}, or leave it out.`;
  reportInvalid(runtimeVersion, { code: 'INVALID_RUNTIME_VERSION', message, remedy }, findings);
  return null;
}

function checkExecutorImage(image: Located<string>, versionDefault: string, findings: Findings): string | null {
  if (checkImage(image, findings) === null) {
    return null;
  }
  const version = runtimeVersionOf(image.value);
  if (version === undefined) {
    const message = `${quote(image.value)} is none of the executor images that a runtime is known for: the job gets runtime ${versionDefault}.`;
    const remedy = "Name one of Vertex AI's images for training, or say the runtime version when the job is submitted.";
    findings.warnings.push({ code: 'EXECUTOR_IMAGE_UNKNOWN', message, remedy, ...locationOf(image) });
  }
  return version ?? versionDefault;
}

/** All VMs of a job start from one machine image. */
function noteOtherExecutors({ pools }: JobDraft, ofMaster: string | undefined, findings: Findings): void {
  for (const { program } of pools.slice(1)) {
    const image = program.executorImageUri;
    if (image !== undefined && image.value !== ofMaster) {
      const message = `${image.path} has no effect: all replicas have the runtime of the first pool.`;
      const remedy = 'Name the same image in all pools.';
      findings.warnings.push({ code: 'FIELD_WITHOUT_EFFECT', message, remedy, ...locationOf(image) });
    }
  }
}

/** The Python version, null where none is said; a wrong one is among the findings. */
export function checkPythonVersion({ pythonVersion }: JobDraft, findings: Findings): string | null {
  if (pythonVersion === undefined) {
    return null;
  }
  if (!PYTHON_VERSION_PATTERN.test(pythonVersion.value)) {
    const message = `${quote(pythonVersion.value)} is no Python version.`;
    const remedy = 'Write two numbers in quotes, such as "3.11", or leave it out.';
    reportInvalid(pythonVersion, { code: 'INVALID_PYTHON_VERSION', message, remedy }, findings);
    return null;
  }
  if (pythonVersion.value.startsWith('2.')) {
    const message = 'Python 2 is no longer to be had: the program runs on the Python 3 of the machine image.';
    findings.warnings.push({
      code: 'PYTHON_2',
      message,
      remedy: 'See that the program runs on Python 3, and write its version.',
      ...locationOf(pythonVersion),
    });
  }
  return pythonVersion.value;
}
