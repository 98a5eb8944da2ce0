import { type FrameKind, isInNativeLibrary, isOwnFrame, kindOfStack } from '#shared/diagnosis/profile/frame-kinds.ts';
import { remedyOf } from '#shared/diagnosis/profile/profile-remedy.ts';
import type { Frame, ProfileFacts, ProfileSamples, Sample } from '#shared/diagnosis/profile/profile-samples.ts';
import type {
  ProfileShares,
  ProfileVerdict,
  ProfileVerdictCode,
  TopFrame,
} from '#shared/diagnosis/profile/profile-verdict.ts';

/** A share that decides. Half would leave a training that waits 45 % of the time for data without a verdict. */
export const DECISIVE_FRACTION = 0.4;
/** Above, the GPU has no time for more, unless Python fills the time between its kernels. */
const GPU_BUSY_FRACTION_MIN = 0.9;
const GPU_IDLE_FRACTION_MAX = 0.1;
/** Of a core: a main thread that computes on the CPU, or that waits actively for a GPU, uses more. */
const COMPUTING_CPU_MIN = 0.5;
/** Below, other processes of the VM hardly matter. */
const DELAY_FRACTION_MIN = 0.1;
const SAMPLES_MIN = 20;
const TOP_FRAMES_MAX = 10;
const NO_SHARES: ProfileShares = { STARTUP: 0, INPUT: 0, SAVE: 0, WAIT_FOR_OTHERS: 0, NATIVE: 0, PYTHON: 0 };

/**
 * Classifies what limits a training, by how its main thread spent the time: it waits for data, executes Python, or
 * waits for native code. A stack shows what Python calls; whether Python or native code executes follows from the
 * interpreter's lock, which libraries release while they compute.
 */
export function classifyProfile(samples: ProfileSamples): ProfileVerdict {
  const shares = sharesOf(samples);
  const code = samples.main.length < SAMPLES_MIN ? 'UNCLEAR' : decide(shares, samples.facts);
  const topFrames = topFramesOf(samples);
  return {
    code,
    summary: SUMMARIES[code],
    evidence: [...describeShares(shares, samples), ...describeFacts(samples.facts)],
    remedy: remedyOf(code, { shares, facts: samples.facts, topFrames }),
    shares,
    topFrames,
  };
}

const SUMMARIES: Readonly<Record<ProfileVerdictCode, string>> = {
  INPUT_BOUND: 'Input-bound: the training waits for its data.',
  PYTHON_BOUND: 'Python-bound: the training spends its time in Python code.',
  DEVICE_BOUND: 'Device-bound: the training spends its time in computation.',
  UNCLEAR: 'Unclear: nothing takes most of the time of the main thread.',
};

function decide(shares: ProfileShares, facts: ProfileFacts): ProfileVerdictCode {
  const { INPUT: input, PYTHON: python, NATIVE: native } = shares;
  const gpuBusy = meanOf(facts.gpuBusyFractions);
  if (gpuBusy !== null && gpuBusy >= GPU_BUSY_FRACTION_MIN && Math.max(input, python) < 1 - DECISIVE_FRACTION) {
    return 'DEVICE_BOUND';
  }
  const most = Math.max(input, python, native);
  if (most < DECISIVE_FRACTION) {
    return 'UNCLEAR';
  }
  if (most === input) {
    return 'INPUT_BOUND';
  }
  if (most === python) {
    return 'PYTHON_BOUND';
  }
  // It neither computes nor waits for a GPU that does: it sleeps, or waits for something that the stack does not name.
  const wantedCpu = Math.max(facts.processCpu, facts.mainThreadCpu + facts.mainThreadDelay);
  const isComputing = wantedCpu >= COMPUTING_CPU_MIN * native || (gpuBusy ?? 0) > GPU_IDLE_FRACTION_MAX;
  return isComputing ? 'DEVICE_BOUND' : 'UNCLEAR';
}

function sharesOf({ main, holdingLock }: ProfileSamples): ProfileShares {
  const total = secondsOf(main);
  if (total === 0) {
    return NO_SHARES;
  }
  const seconds: Record<FrameKind, number> = { ...NO_SHARES };
  for (const sample of main) {
    seconds[kindOfStack(sample.stack) ?? guessOf(sample)] += sample.seconds;
  }
  if (holdingLock !== null) {
    const unnamed = seconds.PYTHON + seconds.NATIVE;
    const python = secondsOf(holdingLock.filter(({ stack }) => kindOfStack(stack) === null));
    seconds.PYTHON = Math.min(unnamed, python);
    seconds.NATIVE = unnamed - seconds.PYTHON;
  }
  return mapShares(seconds, (value) => value / total);
}

/** Without a record of the lock: by the library that the innermost frame belongs to. */
function guessOf({ stack }: Sample): FrameKind {
  return isInNativeLibrary(stack) ? 'NATIVE' : 'PYTHON';
}

function mapShares(shares: ProfileShares, change: (value: number) => number): ProfileShares {
  const { STARTUP, INPUT, SAVE, WAIT_FOR_OTHERS, NATIVE, PYTHON } = shares;
  return {
    STARTUP: change(STARTUP),
    INPUT: change(INPUT),
    SAVE: change(SAVE),
    WAIT_FOR_OTHERS: change(WAIT_FOR_OTHERS),
    NATIVE: change(NATIVE),
    PYTHON: change(PYTHON),
  };
}

type Tally = { seconds: number; pythonSeconds: number; readonly frame: Frame; readonly stack: readonly Frame[] };

function topFramesOf({ main, holdingLock }: ProfileSamples): readonly TopFrame[] {
  const total = secondsOf(main);
  const tallies = new Map<string, Tally>();
  for (const { stack, seconds } of main) {
    const frame = stack.at(-1);
    if (frame !== undefined) {
      const tally = tallies.get(keyOf(frame)) ?? { seconds: 0, pythonSeconds: 0, frame, stack };
      tally.seconds += seconds;
      tallies.set(keyOf(frame), tally);
    }
  }
  for (const { stack, seconds } of holdingLock ?? []) {
    const tally = tallies.get(keyOf(stack.at(-1)));
    if (tally !== undefined) {
      tally.pythonSeconds += seconds;
    }
  }
  return [...tallies.values()]
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, total === 0 ? 0 : TOP_FRAMES_MAX)
    .map((tally) => {
      const lockKind = tally.pythonSeconds >= tally.seconds / 2 ? 'PYTHON' : 'NATIVE';
      const guess = holdingLock === null ? guessOf(tally) : lockKind;
      const own = tally.stack.findLast(isOwnFrame) ?? null;
      return {
        ...tally.frame,
        fraction: tally.seconds / total,
        kind: kindOfStack(tally.stack) ?? guess,
        calledFrom: own === tally.frame ? null : own,
      };
    });
}

function keyOf(frame: Frame | undefined): string {
  return frame === undefined ? '' : `${frame.file}:${frame.name}`;
}

const KIND_NAMES: readonly (readonly [FrameKind, string])[] = [
  ['INPUT', 'in loading data or waiting for it'],
  ['PYTHON', 'executing Python'],
  ['NATIVE', 'in native code, or waiting for it'],
  ['WAIT_FOR_OTHERS', 'waiting for other processes or replicas'],
  ['SAVE', 'saving checkpoints'],
  ['STARTUP', 'importing modules'],
];

function describeShares(shares: ProfileShares, { main, holdingLock }: ProfileSamples): readonly string[] {
  if (main.length < SAMPLES_MIN) {
    return [`Only ${main.length} samples of the main thread were taken.`];
  }
  const parts = KIND_NAMES.filter(([kind]) => shares[kind] >= 0.01).sort(([a], [b]) => shares[b] - shares[a]);
  const texts = parts.map(([kind, text]) => `${percent(shares[kind])} ${text}`);
  const guess = 'The interpreter lock could not be recorded: Python and native code are told apart by file names only.';
  return [`The main thread was ${texts.join(', ')}.`, ...(holdingLock === null ? [guess] : [])];
}

function describeFacts(facts: ProfileFacts): readonly string[] {
  const { mainThreadDelay, processCpu, workerCount, workerCpu, cpuCount, gpuBusyFractions } = facts;
  const workers =
    workerCount === 0
      ? 'It had no worker processes.'
      : `Its ${workerCount} worker process${workerCount === 1 ? '' : 'es'} used ${cores(workerCpu)}.`;
  const gpus = gpuBusyFractions.map((fraction, index) => `GPU ${index} ${percent(fraction)}`).join(', ');
  return [
    `The main process used ${cores(processCpu)} of ${cpuCount}. ${workers}`,
    ...(mainThreadDelay >= DELAY_FRACTION_MIN
      ? [`The main thread waited for a free CPU core for ${percent(mainThreadDelay)} of the time.`]
      : []),
    ...(gpus === '' ? [] : [`Busy: ${gpus}.`]),
  ];
}

function cores(value: number): string {
  return `${value.toFixed(2)} CPU cores`;
}

export function percent(fraction: number): string {
  return `${Math.round(fraction * 100)} %`;
}

function secondsOf(samples: readonly Sample[]): number {
  return samples.reduce((sum, { seconds }) => sum + seconds, 0);
}

/** The mean; null of none. */
export function meanOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
