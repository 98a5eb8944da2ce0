import * as z from 'zod';
import { parseJson } from '#shared/protocol/parse-json.ts';

/** An answer that did not come from the API itself. */
export type Denial = {
  readonly status: number;
  /** Whether Identity-Aware Proxy answered, and not Cloud Run. */
  readonly isOfProxy: boolean;
  /** The header that was sent, with an identity token. */
  readonly authorization: string | undefined;
};

const claimsSchema = z.object({ email: z.email() });

/** Returns what a denied request to the API of a deployment lacks: a login, a member of `api_access`, or a setting. */
export function describeDenial({ status, isOfProxy, authorization = '' }: Denial): string {
  if (isOfProxy) {
    return 'Identity-Aware Proxy is on for the service of the API, and accepts no identity token of the command line. The operator turns it off with `gcloud run services update dropforge-api --no-iap`, and deploys the page behind it with page_access in Terraform';
  }
  const payload = Buffer.from(authorization.split('.')[1] ?? '', 'base64url').toString('utf8');
  const email = claimsSchema.safeParse(parseJson(payload)).data?.email;
  if (status === 401) {
    return `Cloud Run did not accept the identity token of ${email ?? 'this account'}. Run \`gcloud auth login\`, and write the deployment file again, since the token is for its API: \`terraform -chdir=terraform output -json deployment > deployment.json\``;
  }
  const kind = email?.endsWith('.gserviceaccount.com') ? 'serviceAccount' : 'user';
  const member = `${kind}:${email ?? 'EMAIL'}`;
  return `${email ?? 'this account'} may not call the API. Ask the operator to apply Terraform with api_access = { members = ["${member}"] }, or with a group of it; a new member can take some minutes. With another account, run \`gcloud auth login\``;
}
