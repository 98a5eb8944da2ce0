import { isPlaced, type Job, type JobIn } from '#shared/domain/job.ts';

type Committed = { readonly record: Job; readonly eventId: string };

/**
 * The deliveries of provision messages that are being handled. A placement that ends meanwhile is contested: one of
 * them may create a VM of it afterwards, which no record can count.
 */
export function createPlacingDeliveries() {
  const running = new Map<string, number>();
  const contested = new Set<string>();
  const countOf = (jobId: string) => running.get(jobId) ?? 0;

  function change(topic: string, message: object, by: number): void {
    if (topic === 'provision' && 'jobId' in message) {
      running.set(String(message.jobId), countOf(String(message.jobId)) + by);
    }
  }

  function nameOf({ jobId, attempt, placement }: Pick<JobIn<'PREPARING'>, 'jobId' | 'attempt' | 'placement'>): string {
    return `${jobId}/${attempt}/${placement.zone}`;
  }

  return {
    begin: (topic: string, message: object) => change(topic, message, 1),
    end: (topic: string, message: object) => change(topic, message, -1),
    onCommitted(before: Job | undefined, { record: job, eventId }: Committed): void {
      if (before === undefined || !isPlaced(before) || (isPlaced(job) && nameOf(before) === nameOf(job))) {
        return;
      }
      const own = eventId.startsWith('refused-') ? 1 : 0;
      if (countOf(job.jobId) > own) {
        contested.add(nameOf(before));
      }
    },
    isContested: (vm: { readonly jobId: string; readonly attempt: number; readonly zone: string }) =>
      contested.has(`${vm.jobId}/${vm.attempt}/${vm.zone}`),
  };
}
