import type { TimestampMs } from '#shared/domain/job.ts';
import { objectiveMetricsOf, type StudyAlgorithm } from '#shared/domain/study.ts';
import { finishedOf, listAllTrials } from '#shared/ports/read-trials.ts';
import { suggest } from '#shared/tuning/optimizer/suggest.ts';
import type { Trial, Values } from '#shared/tuning/trial.ts';
import type { TuningIn } from '#shared/tuning/tuning.ts';
import { handleTuningEvent, type TuningEventPorts } from '#shared/use-cases/handle-tuning-event.ts';

/**
 * Chooses the values of the next trials from the results of this tuning and of those that it resumes. A request that
 * the tuning does not wait for is ignored. The choice depends on nothing but the stored trials, so that a redelivery
 * whose event was committed costs time and changes nothing.
 */
export async function suggestTrials(
  ports: TuningEventPorts,
  { tuningId, from }: { readonly tuningId: string; readonly from: number },
  now: TimestampMs,
): Promise<void> {
  const tuning = (await ports.tunings.read(tuningId))?.record;
  if (tuning?.status !== 'SEARCHING' || tuning.asked?.from !== from) {
    return;
  }
  const values = await chooseValues(ports, tuning, tuning.asked);
  const eventId = `chosen-${from}`;
  await handleTuningEvent(ports, { type: 'VALUES_CHOSEN', eventId, tuningId, at: now, from, values });
}

async function chooseValues(
  { tunings }: TuningEventPorts,
  { tuningId, study, resumes, suggestedCount }: TuningIn<'SEARCHING'>,
  { from, count }: { readonly from: number; readonly count: number },
): Promise<readonly Values[]> {
  const { parameters, algorithm } = study;
  const earlier: Trial[] = [];
  for (const id of [...resumes].reverse()) {
    earlier.push(...(await listAllTrials(tunings, id)));
  }
  const own = await listAllTrials(tunings, tuningId);
  const [{ goal }, ...further] = objectiveMetricsOf(study);
  const request = {
    parameters,
    algorithm,
    goal,
    furtherGoals: further.map((metric) => metric.goal),
    finished: [...earlier, ...own].flatMap((trial) => finishedOf(trial) ?? []),
    pending: own.filter((trial) => isTaken(trial, algorithm)).map(({ values }) => values),
    start: study.start?.slice(suggestedCount) ?? [],
    ordinal: from - 1,
    seed: tuningId,
  };
  return suggest(request, count);
}

/** Values that are being tried; of a grid, also those of lost trials, which are repeated without being suggested. */
function isTaken({ outcome }: Trial, algorithm: StudyAlgorithm): boolean {
  return outcome === null || (algorithm === 'GRID' && outcome.kind === 'LOST');
}
