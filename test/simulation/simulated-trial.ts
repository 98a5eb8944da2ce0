import type { JobSpec } from '#shared/domain/job-spec.ts';
import type { EarlyStopping, StoppingConditions, Study } from '#shared/domain/study.ts';
import type { Measurement } from '#shared/tuning/trial.ts';
import { STUDY } from '../support/domain/example-tuning.ts';
import type { Prng } from './prng.ts';

/** How the program of a trial behaves, which depends on its values alone. */
export type TrialProgram = {
  readonly exitCode: number;
  /** SILENT: never reports the metric. DIVERGING: every third value is not a number. */
  readonly kind: 'GOOD' | 'SILENT' | 'DIVERGING';
  readonly accuracyAt: (step: number) => number | 'NaN';
};

/** Arguments of a trial: its values, since the job has none of its own. */
export function programOf({ program }: JobSpec): TrialProgram {
  const hash = hashOf(program.args.join(' '));
  const kind = (['SILENT', 'DIVERGING'] as const)[hash % 9] ?? 'GOOD';
  return {
    exitCode: hash % 7 === 3 ? 1 : 0,
    kind,
    accuracyAt: (step) => (kind === 'DIVERGING' && step % 3 === 0 ? 'NaN' : accuracyOf(hash, step)),
  };
}

/** Rises towards a level of its own, and wavers. */
function accuracyOf(hash: number, step: number): number {
  const level = (hash % 1_000) / 1_000;
  return level * (1 - 1 / (step + 1)) + (((hash >>> (step % 16)) & 7) - 3) / 100;
}

export function measurementsOf(program: TrialProgram, stepsMax: number): readonly Measurement['values'][] {
  return Array.from({ length: stepsMax }, (_, index) => valuesAt(program, index + 1));
}

export function valuesAt({ kind, accuracyAt }: TrialProgram, step: number): Measurement['values'] {
  return kind === 'SILENT' ? { loss: 1 } : { accuracy: accuracyAt(step) };
}

/** FNV-1a, which is the same on every machine. */
function hashOf(text: string): number {
  return [...text].reduce(
    (hash, letter) => Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 16_777_619) >>> 0,
    2_166_136_261,
  );
}

/** A study of every kind that the rules distinguish. Random search and grids take no time to choose values. */
export function drawStudy(prng: Prng): Study {
  const trialsMax = 1 + prng.integer(6);
  const gridSize = 2 + prng.integer(8);
  const space = prng.chance(0.4)
    ? ({ kind: 'INTEGER', min: 1, max: gridSize } as const)
    : ({ kind: 'DOUBLE', min: 0.001, max: 1 } as const);
  return {
    ...STUDY,
    algorithm: space.kind === 'INTEGER' ? 'GRID' : prng.chance(0.3) ? 'BAYESIAN' : 'RANDOM',
    parameters: [{ id: 'rate', space, scale: 'LINEAR', children: [] }],
    metrics: [{ id: 'accuracy', goal: prng.chance(0.5) ? 'MAXIMIZE' : 'MINIMIZE', safety: null }],
    trialsMax,
    parallelTrialsMax: Math.min(trialsMax, 1 + prng.integer(3)),
    failedTrialsMax: prng.chance(0.3) ? null : 2 + prng.integer(5),
    measurement: prng.chance(0.5) ? 'LAST' : 'BEST',
    earlyStopping: prng.chance(0.5) ? (EARLY_STOPPINGS[prng.integer(EARLY_STOPPINGS.length)] ?? null) : null,
    stoppingConditions: prng.chance(0.2) ? drawConditions(prng) : null,
    maxCostUsd: prng.chance(0.1) ? 0.1 + prng.integer(10) / 10 : null,
  };
}

const EARLY_STOPPINGS: readonly EarlyStopping[] = [{ rule: 'ASHA' }, { rule: 'MEDIAN', usesElapsedTime: false }];

const HOUR_MS = 3_600_000;

function drawConditions(prng: Prng): StoppingConditions {
  return {
    stopsRunningTrials: prng.chance(0.5),
    minimumRuntime: prng.chance(0.5) ? { maxMs: prng.integer(HOUR_MS) } : null,
    maximumRuntime: prng.chance(0.5) ? { maxMs: HOUR_MS + prng.integer(3 * HOUR_MS) } : null,
    trialsMin: prng.chance(0.5) ? 1 + prng.integer(3) : null,
    trialsMax: prng.chance(0.3) ? 1 + prng.integer(4) : null,
    trialsWithoutProgressMax: prng.chance(0.3) ? 1 + prng.integer(3) : null,
    withoutProgressMaxMs: prng.chance(0.3) ? prng.integer(2 * HOUR_MS) : null,
  };
}
