/** The commands that submit jobs; each has the name and the flags of one of gcloud's. */
export const SUBMIT_COMMANDS = ['jobs submit training', 'custom-jobs create', 'hp-tuning-jobs create'] as const;

export type SubmitCommand = (typeof SUBMIT_COMMANDS)[number];

/** A job as its user wrote it: the text of a job file, and the flags of a command, which override the file. */
export type JobText = {
  /** Null for a job that flags alone describe. */
  readonly jobFile: string | null;
  /** Without its folder, for messages: `job.yaml`. */
  readonly fileName: string;
  readonly command: SubmitCommand;
  /** `--region=us-central1`, or `--enable-web-access`; what follows `--` are arguments of the program. */
  readonly flags: readonly string[];
};
