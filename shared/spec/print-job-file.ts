import { stringify } from 'yaml';
import { printAiPlatformJob } from '#shared/spec/dialects/print-ai-platform.ts';
import { printDropforgeJob } from '#shared/spec/dialects/print-dropforge.ts';
import { printVertexJob } from '#shared/spec/dialects/print-vertex.ts';
import type { Dialect, JobDraft } from '#shared/spec/job-draft.ts';

const PRINTERS = {
  'ai-platform': printAiPlatformJob,
  'vertex-ai': printVertexJob,
  dropforge: printDropforgeJob,
} as const satisfies Record<Dialect, (draft: JobDraft) => Record<string, unknown>>;

/** Prints a draft as a job file of its own dialect, in YAML; reading it gives the same draft but for the places. */
export function printJobFile(draft: JobDraft): string {
  return stringify(PRINTERS[draft.dialect](draft), { lineWidth: 0, aliasDuplicateObjects: false });
}
