/** One function on a stack. */
export type Frame = { readonly name: string; readonly file: string; readonly line: number | null };

/** A stack from the outermost frame to the innermost, and the seconds for which it was seen. */
export type Sample = { readonly stack: readonly Frame[]; readonly seconds: number };

/** What a profile of a replica's main process holds. */
export type ProfileSamples = {
  /** Of the main thread, also while it waits. */
  readonly main: readonly Sample[];
  /** Of the main thread while it holds the interpreter's lock, so while it executes Python; null if not recorded. */
  readonly holdingLock: readonly Sample[] | null;
  readonly facts: ProfileFacts;
};

/** What the agent measured meanwhile. CPU is in cores. */
export type ProfileFacts = {
  readonly seconds: number;
  readonly mainThreadCpu: number;
  /** 0 to 1: how long the main thread could run and waited for a core. */
  readonly mainThreadDelay: number;
  /** Of all threads of the process. */
  readonly processCpu: number;
  /** Processes that multiprocessing started for it, such as those of a data loader. */
  readonly workerCount: number;
  readonly workerCpu: number;
  readonly cpuCount: number;
  /** 0 to 1, of each GPU of the VM; empty without GPUs. */
  readonly gpuBusyFractions: readonly number[];
};

/** `optim/sgd.py:116`: the last two parts of a path are enough to recognize it. */
export function describePlace({ file, line }: Pick<Frame, 'file' | 'line'>): string {
  const short = file.split('/').slice(-2).join('/');
  return line === null ? short : `${short}:${line}`;
}
