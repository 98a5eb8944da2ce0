import * as z from 'zod';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';

const NAME = /(?:^|\/)([a-f0-9]{64})\.pyz$/;

/** The object with the agent that a VM runs: the JSON value of the metadata attribute `dropforge-agent`. */
const agentRefSchema = z.object({
  uri: z.string().refine((uri) => parseGsUri(uri).bucket !== ''),
  /** In hexadecimal. `startup.sh` runs nothing else. */
  sha256: z.string().regex(/^[a-f0-9]{64}$/),
});

export type AgentRef = z.infer<typeof agentRefSchema>;

/** Returns the agent with the digest from its name, `gs://BUCKET/…/SHA256.pyz`; undefined if the URI has another form. */
export function agentRefOf(uri: string): AgentRef | undefined {
  const parsed = agentRefSchema.safeParse({ uri, sha256: NAME.exec(uri)?.[1] });
  return parsed.success ? parsed.data : undefined;
}
