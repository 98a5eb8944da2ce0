import { Presets, SingleBar } from 'cli-progress';
import { stageOf } from '#cli/commands/demo/demo-stages.ts';
import type { Invocation } from '#cli/core/command.ts';
import { describeProgress } from '#cli/render/describe-job.ts';
import { paint, paintState, showControls } from '#cli/render/paint.ts';
import type { JobView } from '#shared/protocol/report.ts';

/** Prints the progress of a job: a line per change and, on a terminal, a progress bar for its steps. */
export type DemoProgress = {
  /** Prints the changes since the last call. */
  show(job: JobView): void;
  print(json: Readonly<Record<string, unknown>>, text: string): void;
  close(): void;
};

export function createDemoProgress({ io, print: printResult, isJson }: Invocation): DemoProgress {
  const startedAt = Date.now();
  const steps = createStepDisplay(isJson ? null : io.stdout.terminal, print);
  let lastKey = '';

  function print(json: Readonly<Record<string, unknown>>, text: string): void {
    const elapsed = `${((Date.now() - startedAt) / 1_000).toFixed(1).padStart(6)} s`;
    printResult({ json, text: `${paint(elapsed, 'dim', io.stdout)}  ${text}` });
  }

  return {
    print,
    show(job) {
      const stage = stageOf(job);
      const { state, attempt } = job;
      if (stage !== 'training') {
        // The last steps can be reported together with the program's exit.
        steps.show(job);
        steps.close();
      }
      if (lastKey !== `${state} ${stage}`) {
        lastKey = `${state} ${stage}`;
        const shown = paintState(state, io.stdout);
        print({ event: 'state', state, stage, attempt }, stage === null ? shown : `${shown}  ${stage}`);
      }
      if (stage === 'training') {
        steps.show(job);
      }
    },
    close: steps.close,
  };
}

/** Shows steps and metrics: a progress bar on a terminal, otherwise a line per poll with new values. */
function createStepDisplay(terminal: NodeJS.WritableStream | null, print: DemoProgress['print']) {
  let bar: SingleBar | undefined;
  let last = '';
  return {
    show({ replicas: [master] }: JobView): void {
      if (master === undefined || master.step === null || describeProgress(master) === last) {
        return;
      }
      last = describeProgress(master);
      const { step, stepsMax, metrics } = master;
      if (terminal === null) {
        print({ event: 'progress', step, stepsMax, metrics }, last);
        return;
      }
      bar ??= startBar(terminal, stepsMax ?? step);
      bar.update(step, { metrics: showControls(describeProgress({ step: null, stepsMax: null, metrics })) });
    },
    close(): void {
      bar?.stop();
      bar = undefined;
    },
  };
}

function startBar(stream: NodeJS.WritableStream, stepsMax: number): SingleBar {
  const format = '          {bar} {value}/{total}  {metrics}';
  const bar = new SingleBar({ stream, format, hideCursor: true, barsize: 30 }, Presets.shades_classic);
  bar.start(stepsMax, 0, { metrics: '' });
  return bar;
}
