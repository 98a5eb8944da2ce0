import type { Flag } from '#cli/core/command.ts';
import { CUSTOM_JOB_FOREIGN_FLAGS, toFlag } from '#cli/core/gcloud-flags.ts';
import { COMMON_SUBMIT_FLAGS } from '#cli/submit/submit-flags.ts';
import { POOL_KEYS } from '#cli/submit/worker-pool-flags.ts';

const KEYS = Object.keys(POOL_KEYS).filter((name) => POOL_KEYS[name] === null);

/** The flags of `gcloud ai custom-jobs create`, stable, beta and alpha, in gcloud's words. */
export const CUSTOM_JOB_FLAGS: readonly Flag[] = [
  { name: 'display-name', value: 'NAME', summary: 'a name for people, of which the job id is made' },
  { name: 'region', value: 'REGION', summary: 'where the machines are' },
  { name: 'config', value: 'FILE', summary: 'a CustomJobSpec in YAML or JSON' },
  {
    name: 'worker-pool-spec',
    value: 'KEY=VALUE,…',
    isRepeatable: true,
    summary: `machines of a role and what they run, once for each role: ${KEYS.join(', ')}`,
  },
  {
    name: 'python-package-uris',
    value: 'LIST',
    isRepeatable: true,
    summary: 'packages by commas: gs:// addresses or local archives',
  },
  { name: 'args', value: 'LIST', isRepeatable: true, summary: 'arguments of the program by commas' },
  { name: 'command', value: 'LIST', isRepeatable: true, summary: "in place of a container's entry point, by commas" },
  ...COMMON_SUBMIT_FLAGS,
  ...CUSTOM_JOB_FOREIGN_FLAGS.map(toFlag),
];
