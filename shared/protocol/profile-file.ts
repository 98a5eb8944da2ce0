import { z } from 'zod';
import type { Frame, ProfileSamples, Sample } from '#shared/diagnosis/profile/profile-samples.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';

/** Limit on a file: that of the agent's two recordings, and what it adds. */
export const PROFILE_BYTES_MAX = 34 * 2 ** 20;
const FRAMES_MAX = 200_000;
const SAMPLES_MAX = 20_000;
const STACK_MAX = 2_000;
const TEXT_CHARS_MAX = 300;
const PROFILES_MAX = 64;

const text = z.string().transform((value) => value.slice(0, TEXT_CHARS_MAX));
const cpu = z.number().min(0).max(100_000);

const profileSchema = z.object({
  name: z.string(),
  samples: z.array(z.array(z.int().min(0)).max(STACK_MAX)).max(SAMPLES_MAX),
  weights: z.array(z.number().min(0)).max(SAMPLES_MAX),
});

/** A file of speedscope with the agent's measurements (infra/vm-agent/vm_agent/profiling/profiler.py). */
const fileSchema = z.object({
  shared: z.object({
    // py-spy's frames also have a column, which is always null.
    frames: z.array(z.object({ name: text, file: text.nullish(), line: z.int().nullish() })).max(FRAMES_MAX),
  }),
  // Of other threads, which are for the eye only.
  profiles: z.array(z.looseObject({ name: z.string() })).max(PROFILES_MAX),
  dropforge: z.object({
    seconds: z.number().min(0),
    mainThreadCpu: cpu,
    mainThreadDelay: z.number().min(0),
    processCpu: cpu,
    workerCount: z.int().min(0),
    workerCpu: cpu,
    cpuCount: z.int().min(1),
    gpuBusyFractions: z.array(z.number().min(0).max(1)).max(16),
  }),
});

const MAIN = 'MainThread';
const HOLDING_LOCK = 'MainThread, while it holds the interpreter lock';

/** Parses a profile that an agent has written, which is hostile input; undefined if it is not one. */
export function parseProfileFile(content: string): ProfileSamples | undefined {
  const file = fileSchema.safeParse(parseJson(content));
  if (!file.success) {
    return undefined;
  }
  const { shared, profiles, dropforge: facts } = file.data;
  const frames = shared.frames.map(
    ({ name, file: path, line }): Frame => ({ name, file: path ?? '', line: line ?? null }),
  );
  const samplesOf = (name: string): readonly Sample[] | null => {
    const profile = profileSchema.safeParse(profiles.find((one) => one.name === name));
    return profile.success ? toSamples(profile.data, frames) : null;
  };
  return { main: samplesOf(MAIN) ?? [], holdingLock: samplesOf(HOLDING_LOCK), facts };
}

function toSamples({ samples, weights }: z.infer<typeof profileSchema>, frames: readonly Frame[]): readonly Sample[] {
  return samples.map((stack, index) => ({
    stack: stack.flatMap((frame) => frames[frame] ?? []),
    seconds: weights[index] ?? 0,
  }));
}
