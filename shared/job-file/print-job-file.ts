import { stringify } from 'yaml';
import type { Dialect, JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { printAiPlatformJob } from '#shared/job-file/formats/ai-platform/print.ts';
import { printDropforgeJob } from '#shared/job-file/formats/dropforge/print.ts';
import { printVertexJob } from '#shared/job-file/formats/vertex-ai/print.ts';

const PRINTERS = {
  'ai-platform': printAiPlatformJob,
  'vertex-ai': printVertexJob,
  dropforge: printDropforgeJob,
} as const satisfies Record<Dialect, (draft: JobDraft) => Record<string, unknown>>;

/** Prints a draft as YAML in its dialect; reading it gives the same draft except for locations. */
export function printJobFile(draft: JobDraft): string {
  return stringify(PRINTERS[draft.dialect](draft), { lineWidth: 0, aliasDuplicateObjects: false });
}
