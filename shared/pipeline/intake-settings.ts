/** What intake is told about its deployment. */
export type IntakeSettings = {
  /** Where uploads are submissions. */
  readonly uploadBucket: string;
  /** Where jobs that name no job directory have theirs: `gs://BUCKET/JOB_ID`. */
  readonly jobsBucket: string;
  /** Where jobs run that name no region. */
  readonly regionDefault: string;
  /** What runs jobs that name no runtime version. */
  readonly runtimeVersionDefault: string;
  /** The Python of a runtime's image, as `3.10`; null where it is not known. */
  readonly pythonVersionOf: (runtimeVersion: string) => string | null;
  /** The zones that this deployment uses; null for all. */
  readonly zones: readonly string[] | null;
};
