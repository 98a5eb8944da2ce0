/** Values that the caller of the validation provides, such as the deployment's defaults. */
export type JobContext = {
  /** Used if neither the file nor a flag gives a value. */
  readonly defaults: {
    readonly region: string;
    readonly runtimeVersion: string;
    /** The parent of job directories, which are named by job id: `gs://bucket` or `gs://bucket/path`. */
    readonly jobDirBase: string;
    readonly jobId?: string;
    /** The package whose root contains the job file. */
    readonly packageUris?: readonly string[];
    readonly pythonModule?: string;
  };
  /** `gs://bucket/folder` of the job file, against which package paths are resolved; null if it is not in a bucket. */
  readonly packageBase: string | null;
  /** Outputs must not be written here, where they would be handled as submissions; null if there is none. */
  readonly uploadBucket: string | null;
};
