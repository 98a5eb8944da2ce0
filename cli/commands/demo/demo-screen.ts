import { Presets, SingleBar } from 'cli-progress';
import { stageOf } from '#cli/commands/demo/demo-stages.ts';
import type { Invocation } from '#cli/core/command.ts';
import { describeProgress } from '#cli/render/describe-job.ts';
import { paint, paintState } from '#cli/render/paint.ts';
import type { JobView } from '#shared/protocol/report.ts';

/** Shows a job while it goes on: lines for what changes, and a bar for its steps where there is a terminal. */
export type DemoScreen = {
  /** Shows what differs from what was shown before. */
  show(job: JobView): void;
  say(json: Readonly<Record<string, unknown>>, text: string): void;
  close(): void;
};

export function createDemoScreen({ io, print, isJson }: Invocation): DemoScreen {
  const startedAt = Date.now();
  const steps = createStepDisplay(isJson ? null : io.stdout.terminal, say);
  let lastKey = '';

  function say(json: Readonly<Record<string, unknown>>, text: string): void {
    const elapsed = `${((Date.now() - startedAt) / 1_000).toFixed(1).padStart(6)} s`;
    print({ json, text: `${paint(elapsed, 'dim', io.stdout)}  ${text}` });
  }

  return {
    say,
    show(job) {
      const stage = stageOf(job);
      const { state, attempt } = job;
      if (stage !== 'training') {
        // The last steps may be reported together with the end of the program.
        steps.show(job);
        steps.close();
      }
      if (lastKey !== `${state} ${stage}`) {
        lastKey = `${state} ${stage}`;
        const shown = paintState(state, io.stdout);
        say({ event: 'state', state, stage, attempt }, stage === null ? shown : `${shown}  ${stage}`);
      }
      if (stage === 'training') {
        steps.show(job);
      }
    },
    close: steps.close,
  };
}

/** The steps of the program with its metrics: a bar on a terminal, elsewhere a line for each look that found new ones. */
function createStepDisplay(terminal: NodeJS.WritableStream | null, say: DemoScreen['say']) {
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
        say({ event: 'progress', step, stepsMax, metrics }, last);
        return;
      }
      bar ??= startBar(terminal, stepsMax ?? step);
      bar.update(step, { metrics: describeProgress({ step: null, stepsMax: null, metrics }) });
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
