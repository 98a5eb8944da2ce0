/** What a job file leaves to those who read it. */
export type JobContext = {
  /** Taken where the file and the flags say nothing. */
  readonly defaults: {
    readonly region: string;
    readonly runtimeVersion: string;
    /** Where job directories are made, one for each job id: `gs://bucket` or `gs://bucket/path`. */
    readonly jobDirBase: string;
    readonly jobId?: string;
    /** The package in whose root the job file was found. */
    readonly packageUris?: readonly string[];
    readonly pythonModule?: string;
  };
  /** `gs://bucket/folder`: where the job file lies, and packages beside it; null where it lies in no bucket. */
  readonly packageBase: string | null;
  /** Outputs must not land here, where they would be taken for submissions; null where there is none. */
  readonly uploadBucket: string | null;
};
