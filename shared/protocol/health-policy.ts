import * as z from 'zod';
import {
  HEALTH_FIELDS,
  type HealthField,
  type HealthPolicy,
  STALLED_AFTER_MS_MAX,
  STALLED_AFTER_MS_MIN,
} from '#shared/domain/health.ts';

type ActionSchemas = { readonly [Field in HealthField]: z.ZodOptional<z.ZodType<HealthPolicy[Field] & string>> };

/** By the name of the field of the job file. Object.fromEntries loses the names' type. */
const actionSchemas = Object.fromEntries(
  Object.entries(HEALTH_FIELDS).map(([name, { actions }]) => [name, z.enum([...actions]).optional()]),
) as unknown as ActionSchemas;

/** What follows from findings, in stored jobs; all of it is optional. */
export const storedHealthPolicySchema = z.object({
  ...actionSchemas,
  stalledAfterMs: z.int().min(STALLED_AFTER_MS_MIN).max(STALLED_AFTER_MS_MAX).optional(),
}) satisfies z.ZodType<HealthPolicy>;

/** The same in a VM's configuration; the agent has a default for each field. */
export const vmHealthSchema = z.object({
  ...actionSchemas,
  /** Without any activity for this long, the program has stalled; absent if that follows from its pace. */
  stalledAfterSeconds: z.number().positive().optional(),
});
