import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { Failure, Interruption } from '#cli/core/failure.ts';
import type { BuildRequest } from '#cli/images/build-locally.ts';
import { explainFailure } from '#cli/images/explain-failure.ts';
import { type BuiltImage, type ImageTag, PLATFORM } from '#cli/images/image-tag.ts';
import { PIP_SECRET } from '#cli/images/pip-configuration.ts';
import { runTool, type ToolResult } from '#cli/images/run-tool.ts';
import { STAGED } from '#cli/images/stage-context.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';

export type CloudRequest = BuildRequest & {
  readonly projectId: string;
  /** Of Cloud Build; null for its global pool. */
  readonly region: string | null;
  /** The e-mail address of the account that the build runs as; null for the project's default. */
  readonly serviceAccount: string | null;
};

/** Cloud Build ends a build after this time, and the state of one is read for little longer. */
const BUILD_SECONDS_MAX = 3_600;
const POLL_MS = 5_000;
const POLLS_MAX = Math.ceil((BUILD_SECONDS_MAX + 600) / (POLL_MS / 1_000));
const ANSWER_MS_MAX = 120_000;

/** The fields of a Build (cloud.google.com/build/docs/api/reference/rest/v1/projects.builds). */
const buildSchema = z.object({
  status: z.string(),
  statusDetail: z.string().optional(),
  logUrl: z.string().optional(),
  failureInfo: z.object({ detail: z.string().optional() }).optional(),
  results: z
    .object({ images: z.array(z.object({ name: z.string(), digest: z.string().optional() })).optional() })
    .optional(),
});

type Build = z.infer<typeof buildSchema>;

/** Builds and pushes a staged folder with Cloud Build, as the user of this machine's gcloud. */
export async function buildInCloud(request: CloudRequest): Promise<BuiltImage> {
  const { folder, tag, signal, onLine } = request;
  const config = join(folder, 'cloudbuild.json');
  await writeFile(config, JSON.stringify(configOf(request), null, 2));
  const what = `Cloud Build did not accept ${tag.text}`;
  const submitted = await runGcloud(request, ['submit', folder, '--config', config, '--async', '--format=value(id)'], {
    what,
  });
  const id = submitted.stdout.trim().split('\n').at(-1) ?? '';
  try {
    const log = await runTool(argvOf(request, ['log', '--stream', id]), { signal, onLine });
    const build = await waitForEnd(request, id);
    return { engine: 'cloud-build', digest: digestOf(build, tag, log?.lastLines ?? []) };
  } catch (error) {
    if (signal.aborted) {
      throw await cancel(request, id);
    }
    throw error;
  }
}

/** In a step; the file is in the memory of its container, and `$$` is a dollar sign ("Substituting variable values"). */
const PIP_STEP = {
  file: '/dev/shm/pip.conf',
  script: 'umask 077 && printf "%s\\n" "$$PIP_CONF" > /dev/shm/pip.conf && exec docker "$$@"',
} as const;

function configOf({ tag, options, pip, projectId, serviceAccount }: CloudRequest) {
  // Cloud Build replaces $NAME in arguments.
  const given = options.map((option) => option.replaceAll('$', '$$$$'));
  const args = [
    'build',
    '--platform',
    PLATFORM,
    '--tag',
    tag.text,
    '--file',
    STAGED.dockerfile,
    ...(pip === null ? [] : ['--secret', `id=${PIP_SECRET.id},src=${PIP_STEP.file}`]),
    ...given,
    STAGED.context,
  ];
  const step =
    pip === null
      ? { args }
      : { entrypoint: 'bash', args: ['-c', PIP_STEP.script, 'docker', ...args], secretEnv: ['PIP_CONF'] };
  return {
    // This image has Docker 20.10, whose default is the classic builder (GoogleCloudPlatform/cloud-builders).
    steps: [{ name: 'gcr.io/cloud-builders/docker', env: ['DOCKER_BUILDKIT=1'], ...step }],
    // cloud.google.com/build/docs/securing-builds/use-secrets
    ...(pip?.kind === 'SECRET' && {
      availableSecrets: {
        secretManager: [{ versionName: `projects/${projectId}/secrets/${pip.name}/versions/latest`, env: 'PIP_CONF' }],
      },
    }),
    images: [tag.text],
    timeout: `${BUILD_SECONDS_MAX}s`,
    // A build with an account of its own is rejected unless it says where its logs are (API, Build.serviceAccount).
    ...(serviceAccount !== null && {
      serviceAccount: `projects/${projectOf(serviceAccount) ?? projectId}/serviceAccounts/${serviceAccount}`,
      options: { logging: 'CLOUD_LOGGING_ONLY' },
    }),
  };
}

/** The project of a user-managed account; undefined for a default account, which is in the project of the build. */
function projectOf(serviceAccount: string): string | undefined {
  return /@([^@]+)\.iam\.gserviceaccount\.com$/.exec(serviceAccount)?.[1];
}

function argvOf({ projectId, region }: CloudRequest, args: readonly string[]): readonly string[] {
  const where = ['--project', projectId, ...(region === null ? [] : ['--region', region])];
  return ['gcloud', 'builds', ...args, ...where, '--quiet'];
}

async function runGcloud(
  request: CloudRequest,
  args: readonly string[],
  { what, timeoutMs }: { readonly what: string; readonly timeoutMs?: number },
): Promise<ToolResult> {
  const result = await runTool(argvOf(request, args), { signal: request.signal, timeoutMs });
  if (result === undefined) {
    throw new Failure(
      'gcloud is not installed or does not answer: install the Google Cloud CLI, and run `gcloud auth login`.',
    );
  }
  if (result.code !== 0) {
    throw explainFailure(what, result.lastLines, { host: request.tag.host });
  }
  return result;
}

/** The log can end before the build has its result. */
async function waitForEnd(request: CloudRequest, id: string): Promise<Build> {
  const what = `The state of build ${id} cannot be read`;
  for (let poll = 0; poll < POLLS_MAX; poll += 1) {
    const options = { what, timeoutMs: ANSWER_MS_MAX };
    const { stdout } = await runGcloud(request, ['describe', id, '--format=json'], options);
    const build = buildSchema.safeParse(parseJson(stdout));
    if (!build.success) {
      throw new Failure(`${what}: gcloud's answer has an unexpected format. Update gcloud, and build again.`);
    }
    if (!['PENDING', 'QUEUED', 'WORKING'].includes(build.data.status)) {
      return build.data;
    }
    await delay(POLL_MS, undefined, { signal: request.signal });
  }
  throw new Failure(`Build ${id} did not end in time. See it with \`gcloud builds describe ${id}\`.`);
}

function digestOf(build: Build, tag: ImageTag, lines: readonly string[]): string {
  const { status, statusDetail, failureInfo, logUrl, results } = build;
  if (status !== 'SUCCESS') {
    const detail = [...lines, failureInfo?.detail, statusDetail, logUrl && `Log: ${logUrl}`];
    const known = detail.filter((line) => line !== undefined && line !== '');
    throw explainFailure(`Cloud Build ended with ${status} and built no image ${tag.text}`, known as string[], {
      host: tag.host,
    });
  }
  const images = results?.images ?? [];
  const digest = (images.find(({ name }) => name === tag.text) ?? images[0])?.digest;
  if (digest === undefined) {
    throw new Failure(`Cloud Build pushed ${tag.text} and named no digest. See the build at ${logUrl}.`);
  }
  return digest;
}

/** An interrupted command leaves no build that is billed. */
async function cancel(request: CloudRequest, id: string): Promise<Interruption> {
  const signal = AbortSignal.timeout(ANSWER_MS_MAX);
  const result = await runTool(argvOf(request, ['cancel', id]), { signal }).catch(() => undefined);
  return new Interruption(
    result?.code === 0
      ? `Interrupted: build ${id} was cancelled.`
      : `Interrupted: build ${id} may still run. Cancel it with \`gcloud builds cancel ${id}\`.`,
  );
}
