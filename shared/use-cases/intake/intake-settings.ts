export type RuntimeFound = {
  /** Another than was asked for where one stands in for it. */
  readonly name: string;
  /** What is different there, in a sentence. */
  readonly note: string | null;
  /** What to do about another than was asked for, where writing its name is not the way. */
  readonly remedy?: string | undefined;
  /** The Python of its image, as `3.10`; null where it is not known. */
  readonly pythonVersion: string | null;
  /** The size of its one boot disk, where it boots from machine images alone; null where any size is to be had. */
  readonly bootDiskGib: number | null;
};

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
  /** What a runtime version gets; undefined for none. */
  readonly runtimeOf: (runtimeVersion: string) => RuntimeFound | undefined;
  /** The runtime versions that have an image of their own, for messages. */
  readonly runtimeVersions: readonly string[];
  /** The zones that this deployment uses, where a region stands for all of its zones; null for all there are. */
  readonly zones: readonly string[] | null;
  /** How many VMs a job can have at all, and whence; undefined where Compute Engine alone decides it. */
  readonly room?: { readonly vmsMax: number; readonly reason: string } | undefined;
};

export function usesZone({ zones }: Pick<IntakeSettings, 'zones'>, zone: string): boolean {
  return zones === null || zones.some((place) => zone === place || zone.startsWith(`${place}-`));
}
