import { findCloud } from '#cli/client/find-cloud.ts';
import type { Command } from '#cli/core/command.ts';
import { programName } from '#cli/core/program-name.ts';
import type { Endpoints } from '#infra/embedded/data-dir/endpoints.ts';

export const env: Command = {
  operands: [],
  flags: [],
  notes: `Usage: eval "$(${programName()} env)", then for example gcloud storage ls`,
  async run(invocation) {
    const variables = variablesOf(await findCloud(invocation));
    const lines = Object.entries(variables).map(
      ([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'`,
    );
    invocation.print({ json: variables, text: lines.join('\n') });
    return 0;
  },
};

/**
 * gcloud reads a property SECTION/NAME from CLOUDSDK_SECTION_NAME ("gcloud topic configurations"). API endpoint
 * overrides must end with a slash.
 */
function variablesOf({
  projectId,
  storage,
  pubsub,
  compute,
  secretManager,
}: Endpoints): Readonly<Record<string, string>> {
  return {
    CLOUDSDK_CORE_PROJECT: projectId,
    CLOUDSDK_AUTH_DISABLE_CREDENTIALS: 'true',
    CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE: `${storage}/storage/v1/`,
    CLOUDSDK_API_ENDPOINT_OVERRIDES_PUBSUB: `${pubsub}/`,
    CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE: `${compute}/compute/v1/`,
    CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER: `${secretManager}/`,
    GOOGLE_CLOUD_PROJECT: projectId,
    STORAGE_EMULATOR_HOST: storage,
  };
}
