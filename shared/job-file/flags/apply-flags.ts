import type { JobText, SubmitCommand } from '#shared/domain/job-text.ts';
import { type Dialect, type JobDraft, listDraftValues } from '#shared/job-file/draft/job-draft.ts';
import type { StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import { applyGroupFlags } from '#shared/job-file/flags/apply-group-flags.ts';
import { applyPoolFlags } from '#shared/job-file/flags/apply-pool-flags.ts';
import { applyRunFlags, RUN_FLAGS } from '#shared/job-file/flags/apply-run-flags.ts';
import { type Flags, InvalidFlagError, readFlags } from '#shared/job-file/flags/flag-list.ts';
import {
  parseChoice,
  parseCount,
  parseUsd,
  readAllPairs,
  readFlag,
  readWords,
} from '#shared/job-file/flags/flag-values.ts';
import { PLACEHOLDER_CODE } from '#shared/job-file/parser/findings.ts';
import type { Problem } from '#shared/protocol/problem.ts';

/** Flags of all commands that override the job file. */
const COMMON_FLAGS: readonly string[] = [
  ...['region', 'job-dir', 'labels', 'set-secrets', 'service-account', 'network', 'kms-key', 'enable-web-access'],
];

/** The flags of each command that override the job file, in the order in which they are written. */
export const OVERRIDE_FLAGS: Readonly<Record<SubmitCommand, readonly string[]>> = {
  'jobs submit training': [
    ...['module-name', 'packages', 'scale-tier', 'runtime-version', 'python-version'],
    ...['master-machine-type', 'master-accelerator', 'master-image-uri'],
    ...['worker', 'parameter-server'].flatMap((group) =>
      ['machine-type', 'count', 'accelerator', 'image-uri'].map((name) => `${group}-${name}`),
    ),
    'max-cost',
    ...RUN_FLAGS,
    ...COMMON_FLAGS,
  ],
  'custom-jobs create': [
    ...['display-name', 'worker-pool-spec', 'python-package-uris', 'args', 'command'],
    ...COMMON_FLAGS,
  ],
  'hp-tuning-jobs create': [
    ...['display-name', 'max-trial-count', 'parallel-trial-count', 'algorithm', 'max-cost'],
    ...COMMON_FLAGS,
  ],
};

/** The properties of the draft whose values are those of flags. */
const WORDS = {
  'display-name': 'displayName',
  region: 'region',
  'job-dir': 'jobDir',
  'runtime-version': 'runtimeVersion',
  'python-version': 'pythonVersion',
  'service-account': 'serviceAccount',
  network: 'network',
  'kms-key': 'kmsKeyName',
} as const satisfies Readonly<Record<string, keyof JobDraft>>;

/** Flags for which a format has no field: its jobs have no such setting. */
const WITHOUT_FIELD: Readonly<Record<Dialect, readonly string[]>> = {
  'ai-platform': [],
  'vertex-ai': ['scale-tier', 'runtime-version', 'python-version'],
  dropforge: ['scale-tier'],
};

/**
 * The draft of a job file, overridden by the flags of a command. Lists and labels are replaced, not merged, as gcloud
 * does. Findings on such a value name its flag; a placeholder replaced by a flag is no longer a problem. Throws
 * InvalidFlagError.
 */
export function applyFlags(draft: JobDraft, { command, flags: list }: Pick<JobText, 'command' | 'flags'>): JobDraft {
  const flags = readFlags(list, OVERRIDE_FLAGS[command]);
  rejectConflicts(draft, flags);
  const changed = applyPoolFlags(applyRunFlags(applyGroupFlags(applyJobFlags(draft, flags), flags), flags), flags);
  const study = draft.study && applyStudyFlags(draft.study, flags, command);
  return withoutReplacedPlaceholders(draft, { ...changed, study });
}

function rejectConflicts({ study }: JobDraft, { isSet }: Flags): void {
  if (isSet('master-image-uri') && isSet('runtime-version')) {
    throw new InvalidFlagError(
      '--master-image-uri and --runtime-version are mutually exclusive: the image contains the runtime.',
    );
  }
  if (isSet('max-cost') && study === undefined) {
    throw new InvalidFlagError('--max-cost is for tuning jobs, and the job has no hyperparameters: remove the flag.');
  }
}

function applyJobFlags(draft: JobDraft, flags: Flags): JobDraft {
  const { dialect } = draft;
  const words = Object.entries(WORDS).flatMap(([name, key]) => {
    const value = readWords(flags, name);
    return value === undefined ? [] : [[key, value]];
  });
  // Jobs in Dropforge's own format have a shell wherever the deployment allows one.
  const hasWebAccess = flags.isSet('enable-web-access') && dialect !== 'dropforge';
  return {
    ...draft,
    ...Object.fromEntries(words),
    problems: [...draft.problems, ...WITHOUT_FIELD[dialect].filter(flags.isSet).map(withoutField)],
    labels: readAllPairs(flags, 'labels') ?? draft.labels,
    secrets: readAllPairs(flags, 'set-secrets') ?? draft.secrets,
    scaleTier: readFlag(flags, 'scale-tier', parseChoice) ?? draft.scaleTier,
    ...(hasWebAccess && { webAccess: { value: true, path: '--enable-web-access' } }),
  };

  function withoutField(name: string): Problem {
    const remedy = 'Remove the flag, or set the equivalent field of that format in the job file.';
    const message = `The ${DIALECT_NAMES[dialect]} job file format has no field for --${name}.`;
    return { code: 'FLAG_NOT_IN_FORM', message, remedy, path: `--${name}` };
  }
}

const DIALECT_NAMES = {
  'ai-platform': 'AI Platform',
  'vertex-ai': 'Vertex AI',
  dropforge: 'Dropforge',
} as const satisfies Record<Dialect, string>;

/** gcloud's default of the two counts, unless the file has them. */
const TRIALS_DEFAULT = 1;

function applyStudyFlags(study: StudyDraft, flags: Flags, command: SubmitCommand): StudyDraft {
  const countOf = (name: string) =>
    command === 'hp-tuning-jobs create' ? { value: TRIALS_DEFAULT, path: `--${name}` } : undefined;
  return {
    ...study,
    maxTrials: readFlag(flags, 'max-trial-count', parseCount) ?? study.maxTrials ?? countOf('max-trial-count'),
    parallelTrials:
      readFlag(flags, 'parallel-trial-count', parseCount) ?? study.parallelTrials ?? countOf('parallel-trial-count'),
    algorithm: readFlag(flags, 'algorithm', parseChoice) ?? study.algorithm,
    maxCostUsd: readFlag(flags, 'max-cost', parseUsd) ?? study.maxCostUsd,
  };
}

/** Counts are numbers, so a placeholder in their place is reported by the reader already. */
function withoutReplacedPlaceholders(file: JobDraft, draft: JobDraft): JobDraft {
  const kept = new Set(listDraftValues(draft).map(({ path }) => path));
  const filled = new Set(listDraftValues(file).flatMap(({ path }) => (kept.has(path) ? [] : [path])));
  const isOpen = ({ code, path }: Problem) => code !== PLACEHOLDER_CODE || path === undefined || !filled.has(path);
  return { ...draft, problems: draft.problems.filter(isOpen) };
}
