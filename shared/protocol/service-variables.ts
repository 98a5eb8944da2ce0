/**
 * The environment variables that the agent sets for pip and for the program, which override the user's.
 * `golden/service-variables.json` holds the same list for the agent's tests.
 */
export const SERVICE_VARIABLES = {
  prefixes: ['AIP_', 'CLOUD_ML_', 'DROPFORGE_'],
  names: [
    'CLUSTER_SPEC',
    'MASTER_ADDR',
    'MASTER_PORT',
    'NODE_RANK',
    'PATH',
    'PYTHONPATH',
    'RANK',
    'TF_CONFIG',
    'VIRTUAL_ENV',
    'WORLD_SIZE',
  ],
} as const;

const NAMES: ReadonlySet<string> = new Set(SERVICE_VARIABLES.names);

export function isServiceVariable(name: string): boolean {
  return NAMES.has(name) || SERVICE_VARIABLES.prefixes.some((prefix) => name.startsWith(prefix));
}
