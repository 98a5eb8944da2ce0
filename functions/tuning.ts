import type { PortsFor } from '#functions/function-ports.ts';
import { decodeMessage, type PushedMessage } from '#functions/pushed-message.ts';
import { type TuningMessage, tuningMessageSchema } from '#shared/protocol/stage-message.ts';
import { reportRung } from '#shared/use-cases/tuning/report-rung.ts';
import { type ReportTrialPorts, reportTrial } from '#shared/use-cases/tuning/report-trial.ts';
import { startTrial } from '#shared/use-cases/tuning/start-trial.ts';
import { stopTrial } from '#shared/use-cases/tuning/stop-trial.ts';
import { suggestTrials } from '#shared/use-cases/tuning/suggest-trials.ts';

/** Topic `tuning` → one step of a tuning. */
export function createTuning(ports: PortsFor<ReportTrialPorts>) {
  return async (pushed: PushedMessage): Promise<void> => {
    await handle(ports, decodeMessage(pushed, tuningMessageSchema), ports.clock.now());
  };
}

function handle(ports: ReportTrialPorts, message: TuningMessage, now: number): Promise<void> {
  switch (message.type) {
    case 'SUGGEST':
      return suggestTrials(ports, message, now);
    case 'START_TRIAL':
      return startTrial(ports, message, now);
    case 'STOP_TRIAL':
      return stopTrial(ports, message, now);
    case 'REPORT_TRIAL':
      return reportTrial(ports, message, now);
    case 'REPORT_RUNG':
      return reportRung(ports, message, now);
  }
}
