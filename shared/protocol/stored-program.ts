import * as z from 'zod';
import type { Program } from '#shared/domain/job-spec.ts';

const textMap = z.record(z.string(), z.string());

const pythonProgramSchema = z.object({
  kind: z.literal('PYTHON'),
  packageUris: z.array(z.string()),
  module: z.string().nullable(),
  command: z.array(z.string()).optional(),
  args: z.array(z.string()),
  environment: textMap.default({}),
});

const containerProgramSchema = z.object({
  kind: z.literal('CONTAINER'),
  imageUri: z.string(),
  image: z
    .object({
      uri: z.string(),
      sizeBytes: z.int().min(0),
      platform: z.string().optional(),
      entrypoint: z.array(z.string()),
      cmd: z.array(z.string()),
      user: z.string(),
      workingDir: z.string(),
    })
    .nullable()
    .default(null),
  command: z.array(z.string()),
  args: z.array(z.string()),
  environment: textMap.default({}),
  packageUris: z.array(z.string()).default([]),
  module: z.string().nullable().default(null),
});

/** The stored form of a program. */
export const storedProgramSchema = z.discriminatedUnion('kind', [
  pythonProgramSchema,
  containerProgramSchema,
]) satisfies z.ZodType<Program>;
