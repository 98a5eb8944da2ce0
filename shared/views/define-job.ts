import { posix } from 'node:path';
import { stringify } from 'yaml';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import type { JobText } from '#shared/domain/job-text.ts';
import { type JobDraft, masterOf } from '#shared/job-file/draft/job-draft.ts';
import { OVERRIDE_FLAGS } from '#shared/job-file/flags/apply-flags.ts';
import { readFlags, writeFlags } from '#shared/job-file/flags/flag-list.ts';
import { formatCommand } from '#shared/job-file/flags/format-command.ts';
import { toTrainingInput } from '#shared/job-file/formats/ai-platform/training-input-dictionary.ts';
import { renamePackages } from '#shared/job-file/parser/rename-packages.ts';
import { toSingleTraining } from '#shared/job-file/parser/single-training.ts';
import { readJob } from '#shared/job-file/read-job.ts';
import type { Submitted } from '#shared/ports/read-submitted.ts';
import type { TuningStore } from '#shared/ports/tuning-store.ts';
import type { JobDefinition } from '#shared/protocol/job-definition.ts';
import type { SentJob } from '#shared/protocol/job-text.ts';
import { TRIAL_JOB_ID_PATTERN } from '#shared/tuning/trial.ts';

/** The job or tuning as its user wrote it, and the submission that runs the same once more under a new id. */
export async function defineJob(
  { tunings }: { readonly tunings: TuningStore },
  submitted: Submitted,
): Promise<JobDefinition> {
  const spec = 'study' in submitted ? { ...submitted.spec, study: submitted.study } : submitted.spec;
  const { text, isComplete } = await textOf(tunings, submitted, spec);
  const { draft } = readJob(text);
  const submission = repeat(text, { draft, spec, sourceUri: submitted.source.uri });
  return {
    jobId: spec.jobId,
    jobFile: text.jobFile ?? formatCommand({ ...text, jobId: spec.jobId, config: undefined }),
    dialect: draft?.dialect ?? 'ai-platform',
    isComplete,
    args: (spec.replicaGroups[0].program ?? spec.program).args,
    warnings: submitted.warnings,
    packages: submitted.packages.map(({ uri, sizeBytes }) => ({ uri, sizeBytes })),
    repetition: {
      jobId: submission.jobId,
      jobFile: submission.jobFile ?? '',
      command: commandOf(submission),
      submission,
    },
  };
}

type Text = { readonly text: JobText; readonly isComplete: boolean };

/** The text of a job; of a trial's, that of its tuning as a single training with the trial's values. */
async function textOf(tunings: TuningStore, submitted: Submitted, spec: JobSpec): Promise<Text> {
  const { trial = null } = 'trial' in submitted ? submitted : {};
  if (trial === null) {
    return submitted.source.text === null
      ? { text: textOfSpec(spec), isComplete: false }
      : { text: submitted.source.text, isComplete: true };
  }
  const text = (await tunings.read(trial.tuningId))?.record.source.text ?? null;
  if (text === null || text.jobFile === null) {
    return { text: textOfSpec(spec), isComplete: false };
  }
  const { flags } = readFlags(text.flags, OVERRIDE_FLAGS[text.command]);
  const names = OVERRIDE_FLAGS['jobs submit training'].filter((name) => name !== 'max-cost');
  return {
    text: {
      jobFile: toSingleTraining(text.jobFile),
      fileName: text.fileName,
      command: 'jobs submit training',
      flags: writeFlags({ flags, rest: spec.program.args }, names),
    },
    // The arguments of a command line are those of one program.
    isComplete: spec.replicaGroups.every(({ program }) => program === null),
  };
}

/** A job that was stored without its text, as far as AI Platform's format has fields for it. */
function textOfSpec(spec: JobSpec): JobText {
  const job = { jobId: spec.jobId, labels: spec.labels, trainingInput: toTrainingInput(spec) };
  return { jobFile: stringify(job), fileName: 'job.yaml', command: 'jobs submit training', flags: [] };
}

type Facts = { readonly draft: JobDraft | null; readonly spec: JobSpec; readonly sourceUri: string };

/**
 * The job under its next id, with the packages that it had, and with a job directory of its own if it names one:
 * otherwise it would restore the checkpoints of this one.
 */
function repeat(text: JobText, { draft, spec, sourceUri }: Facts): JobDefinition['repetition']['submission'] {
  const jobId = nextJobId(spec.jobId);
  const uris = spec.replicaGroups.flatMap((group) => (group.program ?? spec.program).packageUris);
  const jobFile = text.jobFile === null ? null : renamePackages(text.jobFile, (name) => findUri(uris, name));
  const isEnclosed = draft !== null && masterOf(draft).program.packageUris === undefined && uris.includes(sourceUri);
  const names = OVERRIDE_FLAGS[text.command];
  const given = readFlags(text.flags, names);
  const flags = writeFlags(given, names, {
    ...(given.isSet('display-name') && { 'display-name': [jobId] }),
    ...(draft?.jobDir !== undefined && { 'job-dir': [jobDirOf(spec, jobId)] }),
    // A job file in its package need not name it.
    ...(isEnclosed && { packages: [sourceUri] }),
  });
  return { jobFile, fileName: text.fileName, command: text.command, flags, jobId };
}

/** The address of a package by its path relative to the job file: the shortest one that ends with it. */
function findUri(uris: readonly string[], name: string): string | undefined {
  const path = `/${posix.normalize(name)}`;
  const found = uris.filter((uri) => uri.endsWith(path)).toSorted((one, other) => one.length - other.length);
  return name.includes('://') ? undefined : found[0];
}

function jobDirOf({ jobId, jobDir }: JobSpec, next: string): string {
  return jobDir.endsWith(`/${jobId}`) ? `${jobDir.slice(0, -jobId.length)}${next}` : `${jobDir}/${next}`;
}

const JOB_ID_CHARACTERS_MAX = 115;

/** `digits_2` after `digits`, `digits_3` after `digits_2`; the ids of trials are reserved. */
function nextJobId(jobId: string): string {
  const own = jobId.replace(TRIAL_JOB_ID_PATTERN, (suffix) => suffix.replace('_trial_', '_from_trial')).slice(0, 128);
  const [, stem = own, count = '1'] = /^(.*)_(\d{1,3})$/.exec(own) ?? [];
  const suffix = `_${Number(count) + 1}`;
  return `${stem.slice(0, JOB_ID_CHARACTERS_MAX - suffix.length)}${suffix}`;
}

/** A here-document for the job file: no text in it ends it early, or is expanded by the shell. */
function commandOf({ jobFile, ...job }: SentJob): string {
  if (jobFile === null) {
    return `${formatCommand({ ...job, jobId: job.jobId, config: undefined })}\n`;
  }
  const lines = new Set(jobFile.split('\n'));
  let end = 'JOB_FILE';
  while (lines.has(end)) {
    end += '_';
  }
  const file = `${job.jobId}.yaml`;
  const text = jobFile.endsWith('\n') ? jobFile : `${jobFile}\n`;
  return `cat > ${file} <<'${end}'\n${text}${end}\n${formatCommand({ ...job, jobId: job.jobId, config: file })}\n`;
}
