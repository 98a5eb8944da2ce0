import { findMatches } from '#dashboard/log/log-lines.ts';

// A regular expression can take exponential time, and cannot be interrupted: the page ends this worker instead.
addEventListener('message', ({ data }: MessageEvent<Parameters<typeof findMatches>[0]>) => {
  postMessage(findMatches(data));
});
