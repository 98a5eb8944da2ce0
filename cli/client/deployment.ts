import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { Failure } from '#cli/core/failure.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';

/** What the CLI has to know of a deployment on Google Cloud: Terraform's output `deployment`. */
const deploymentSchema = z.object({
  projectId: z.string().min(1),
  /** The address of the HTTP API, which is a function behind Google's sign-in. */
  api: z.url({ protocol: /^https?$/ }).transform((url) => url.replace(/\/+$/, '')),
  uploadBucket: z.string().min(1),
  jobsBucket: z.string().min(1),
  /** In place of Cloud Storage's own address, where it is reached by another. */
  storage: z.url().optional(),
});

export type Deployment = z.infer<typeof deploymentSchema>;

const REMEDY = 'Write it with: terraform -chdir=terraform output -json deployment > deployment.json';

/** Reads the file that `--deployment` or DROPFORGE_DEPLOYMENT names. */
export async function readDeployment(path: string): Promise<Deployment> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch {
    throw new Failure(`The deployment ${path} cannot be read. ${REMEDY}`);
  }
  const parsed = deploymentSchema.safeParse(parseJson(text));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue?.path.join('.');
    throw new Failure(`${path} describes no deployment${field ? ` (${field}: ${issue?.message})` : ''}. ${REMEDY}`);
  }
  return parsed.data;
}
