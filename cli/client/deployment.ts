import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import { Failure } from '#cli/core/failure.ts';
import { internetAccessSchema } from '#shared/protocol/internet-access.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';

/** A deployment on Google Cloud: Terraform's output `deployment`. */
const deploymentSchema = z.object({
  projectId: z.string().min(1),
  /** URL of the HTTP API, a function that requires an identity token, which plain HTTP would show to the network. */
  api: z
    .url({ protocol: /^https?$/ })
    .refine((url) => /^https:|^http:\/\/(?:127\.0\.0\.1|localhost)(?=[:/]|$)/.test(url), 'Use https://')
    .transform((url) => url.replace(/\/+$/, '')),
  /** Address of the page for browsers; null if only a proxy with the user's identity serves it. */
  pageUrl: z.url().nullish(),
  uploadBucket: z.string().min(1),
  jobsBucket: z.string().min(1),
  /** `projects/P/topics/T`: job files are submitted here; without it, through the upload bucket. */
  submitTopic: z.string().min(1).nullish(),
  /** The hosts from which VMs can download; missing in files of the version before. */
  internetAccess: internetAccessSchema.optional(),
  /** Overrides Cloud Storage's default endpoint. */
  storage: z.url().optional(),
  /** Overrides Pub/Sub's default endpoint. */
  pubsub: z.url().optional(),
});

export type Deployment = z.infer<typeof deploymentSchema>;

const REMEDY = 'Create it with: terraform -chdir=terraform output -json deployment > deployment.json';

/** Reads the file given by `--deployment` or DROPFORGE_DEPLOYMENT. */
export async function readDeployment(path: string): Promise<Deployment> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch {
    throw new Failure(`The deployment file ${path} cannot be read. ${REMEDY}`);
  }
  const parsed = deploymentSchema.safeParse(parseJson(text));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue?.path.join('.');
    throw new Failure(
      `${path} is not a valid deployment file${field ? ` (${field}: ${issue?.message})` : ''}. ${REMEDY}`,
    );
  }
  return parsed.data;
}
