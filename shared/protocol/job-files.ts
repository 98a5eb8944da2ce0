import * as z from 'zod';

/**
 * The purpose of a file of a job directory, by its name. LOG, METRICS, MANIFEST and PARTS are Dropforge's own; EVENTS
 * are TensorBoard's; CHECKPOINT and MODEL follow from the names that frameworks use.
 */
export const FILE_ROLES = ['LOG', 'METRICS', 'MANIFEST', 'PARTS', 'EVENTS', 'CHECKPOINT', 'MODEL', 'OTHER'] as const;
export type FileRole = (typeof FILE_ROLES)[number];

const role = z.enum(FILE_ROLES);

/** `GET /v1/jobs/JOB/files?prefix=checkpoints/&pageToken=…`: names are relative to the job directory. */
export const jobFilesSchema = z.object({
  jobId: z.string(),
  jobDir: z.string(),
  prefix: z.string(),
  entries: z.array(
    z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('FOLDER'), name: z.string(), role }),
      z.object({
        kind: z.literal('FILE'),
        name: z.string(),
        role,
        sizeBytes: z.number(),
        updateTime: z.string(),
        generation: z.string(),
      }),
    ]),
  ),
  /** Larger files are not sent by the API: `copyCommand` copies them. */
  downloadBytesMax: z.number(),
  nextPageToken: z.string().optional(),
});

export type JobFiles = z.infer<typeof jobFilesSchema>;
export type JobFileEntry = JobFiles['entries'][number];

/** In this order: what Dropforge writes, then what frameworks write. */
const PATTERNS: readonly (readonly [RegExp, FileRole])[] = [
  [/^dropforge-logs\//, 'LOG'],
  [/^dropforge-manifest\.json$/, 'MANIFEST'],
  [/^dropforge-parts\//, 'PARTS'],
  [/^(dropforge-metrics\/|dropforge-system\/|(metrics|system)[^/]*\.jsonl$)/, 'METRICS'],
  [/(^|\/)[^/]*\.tfevents\.[^/]*$/, 'EVENTS'],
  // PyTorch Lightning, Hugging Face, TensorFlow, Keras, Flax.
  [/(^|\/)(checkpoints?|ckpts?|checkpoint[-_]\d+)(\/|$)/i, 'CHECKPOINT'],
  [/(^|\/)[^/]*(ckpt|checkpoint)[^/]*$/i, 'CHECKPOINT'],
  [/\.(data-\d{5}-of-\d{5}|index|weights\.h5)$/i, 'CHECKPOINT'],
  [/(^|\/)(saved_model\.pb|model[^/]*\.(bst|json|txt))$/i, 'MODEL'],
  [/\.(pt|pth|safetensors|h5|keras|onnx|joblib|pkl|npz|tflite|bst|cbm)$/i, 'MODEL'],
];

export function classifyFile(name: string): FileRole {
  return PATTERNS.find(([pattern]) => pattern.test(name))?.[1] ?? 'OTHER';
}
