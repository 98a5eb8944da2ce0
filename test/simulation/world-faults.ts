import type { Prng } from './prng.ts';

/** The safety mechanisms, which the ablation test disables one at a time. */
export const MECHANISMS = [
  'wakeDueJobs',
  'publishOutbox',
  'fencing',
  'sweep',
  'duplicateCheck',
  'leases',
  'recordedSuccess',
  'bootLeases',
  'newestHeartbeat',
  'suspectFirst',
  'gangScheduling',
  'holding',
  'agentsStopThemselves',
  'maxRunDuration',
  'teardown',
  'quotaDemand',
  'unusedVmLimit',
  'assemblyLimit',
  'waitingOrder',
  'vmLimits',
  'endedPlacements',
  'suggestionFence',
  'repeatedSuggestions',
  'repeatedStarts',
  'trialReports',
  'pendingTrials',
] as const;
export type Mechanism = (typeof MECHANISMS)[number];

/** Draws the fault rates of a seed, from none to severe. */
export function drawFaults(prng: Prng) {
  const upTo = (max: number) => (prng.integer(1_001) / 1_000) * max;
  return {
    crash: upTo(0.05),
    messageLost: upTo(0.1),
    messageTwice: upTo(0.4),
    stockout: upTo(0.5),
    createThrows: upTo(0.2),
    createLate: upTo(0.4),
    deleteSlow: upTo(0.6),
    crashesWithoutReport: upTo(0.04),
    heartbeatsStop: upTo(0.02),
    preempted: upTo(0.04),
    heartbeatLost: upTo(0.2),
    heartbeatTwice: upTo(0.3),
  };
}

export type Faults = ReturnType<typeof drawFaults>;
