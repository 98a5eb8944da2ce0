import { stageOf } from '#cli/commands/demo/demo-stages.ts';
import type { Invocation } from '#cli/core/command.ts';
import { paint, paintState } from '#cli/render/paint.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { describeProgress } from '#shared/views/describe/describe-replica.ts';

/** Prints the progress of a job: a line per change of its state, and of its steps and metrics. */
export type DemoProgress = {
  /** Prints the changes since the last call. */
  show(job: JobView): void;
  print(json: Readonly<Record<string, unknown>>, text: string): void;
};

export function createDemoProgress({ io, print: printResult }: Invocation): DemoProgress {
  const startedAt = Date.now();
  let lastKey = '';
  let lastProgress = '';

  function print(json: Readonly<Record<string, unknown>>, text: string): void {
    const elapsed = `${((Date.now() - startedAt) / 1_000).toFixed(1).padStart(6)} s`;
    printResult({ json, text: `${paint(elapsed, 'dim', io.stdout)}  ${text}` });
  }

  function showSteps({ replicas: [master] }: JobView): void {
    if (master === undefined || master.step === null || describeProgress(master) === lastProgress) {
      return;
    }
    lastProgress = describeProgress(master);
    const { step, stepsMax, metrics } = master;
    print({ event: 'progress', step, stepsMax, metrics }, lastProgress);
  }

  return {
    print,
    show(job) {
      const stage = stageOf(job);
      const { state, attempt } = job;
      if (stage !== 'training') {
        // The last steps can be reported together with the program's exit.
        showSteps(job);
      }
      if (lastKey !== `${state} ${stage}`) {
        lastKey = `${state} ${stage}`;
        const shown = paintState(state, io.stdout);
        print({ event: 'state', state, stage, attempt }, stage === null ? shown : `${shown}  ${stage}`);
      }
      if (stage === 'training') {
        showSteps(job);
      }
    },
  };
}
