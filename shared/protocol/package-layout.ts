import * as z from 'zod';
import type { PackageLayout } from '#shared/domain/package-layout.ts';

const paths = z.array(z.string()).readonly();

/** How a package is made runnable, in stored jobs and in the configuration of VMs. */
export const packageLayoutSchema = z.object({
  style: z.enum(['WHEEL', 'PROJECT', 'SOURCES', 'FILE']),
  root: z.string(),
  importRoots: paths,
  program: z.object({ kind: z.enum(['MODULE', 'SCRIPT']), path: z.string() }).nullable(),
  workingDirectory: z.string().nullable(),
  requirementFiles: paths,
  requirements: paths,
}) satisfies z.ZodType<PackageLayout>;
