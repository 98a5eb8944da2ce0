const waiting = new Set<() => void>();
let isScheduled = false;

/**
 * Calls back in one of the next frames, in each frame one: charts that become visible together do not stop the page
 * while they are drawn. Returns the function that cancels it.
 */
export function inNextFrames(callback: () => void): () => void {
  waiting.add(callback);
  schedule();
  return () => waiting.delete(callback);
}

function schedule(): void {
  if (!isScheduled && waiting.size > 0) {
    isScheduled = true;
    requestAnimationFrame(() => {
      isScheduled = false;
      const [next] = waiting;
      if (next !== undefined) {
        waiting.delete(next);
        next();
      }
      schedule();
    });
  }
}
