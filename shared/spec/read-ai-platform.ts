import {
  ACCELERATOR_CONFIG,
  DISK_CONFIG,
  JOB,
  REPLICA_CONFIG,
  SCHEDULING,
  TRAINING_INPUT,
} from '#shared/spec/ai-platform-fields.ts';
import type { Findings } from '#shared/spec/findings.ts';
import { EMPTY_DRAFT, type JobDraft } from '#shared/spec/job-draft.ts';
import { type FieldRules, type Fields, type Message, openMapping } from '#shared/spec/open-mapping.ts';
import { type FoundNode, readInteger, readText, readTextList, readTextMap } from '#shared/spec/read-values.ts';

/** Whether a name at the top of a file speaks for AI Platform's Job. */
export function isJobField(name: string): boolean {
  return Object.hasOwn(JOB.rules, name);
}

/** Whether a name is one of TrainingInput's, which some files have at the top. */
export function isTrainingInputField(name: string): boolean {
  return Object.hasOwn(TRAINING_INPUT.rules, name);
}

/** Reads AI Platform's Job resource; what is wrong with its form goes to the findings. */
export function readAiPlatformJob(root: FoundNode, findings: Findings): JobDraft {
  const job = openMapping(root, JOB, findings);
  return {
    ...(job.trainingInput === undefined ? EMPTY_DRAFT : readTrainingInput(job.trainingInput, findings)),
    jobId: readText(job.jobId, findings),
    labels: readTextMap(job.labels, findings),
  };
}

function readTrainingInput(found: FoundNode, findings: Findings): JobDraft {
  const input = openMapping(found, TRAINING_INPUT, findings);
  const master = openOptional(input.masterConfig, REPLICA_CONFIG, findings);
  const accelerator = openOptional(master.acceleratorConfig, ACCELERATOR_CONFIG, findings);
  const disk = openOptional(master.diskConfig, DISK_CONFIG, findings);
  const scheduling = openOptional(input.scheduling, SCHEDULING, findings);
  return {
    ...EMPTY_DRAFT,
    scaleTier: readText(input.scaleTier, findings),
    masterType: readText(input.masterType, findings),
    masterAccelerator: { type: readText(accelerator.type, findings), count: readInteger(accelerator.count, findings) },
    bootDiskGib: readInteger(disk.bootDiskSizeGb, findings),
    bootDiskType: readText(disk.bootDiskType, findings),
    packageUris: readTextList(input.packageUris, findings),
    pythonModule: readText(input.pythonModule, findings),
    args: readTextList(input.args, findings),
    region: readText(input.region, findings),
    jobDir: readText(input.jobDir, findings),
    runtimeVersion: readText(input.runtimeVersion, findings),
    pythonVersion: readText(input.pythonVersion, findings),
    maxRunningTime: readText(scheduling.maxRunningTime, findings),
    maxWaitTime: readText(scheduling.maxWaitTime, findings),
    strategy: readText(scheduling.strategy, findings),
  };
}

function openOptional<Rules extends FieldRules>(
  found: FoundNode | undefined,
  message: Message<Rules>,
  findings: Findings,
): Fields<Rules> {
  return found === undefined ? {} : openMapping(found, message, findings);
}
