import { resolve } from 'node:path';
import { readDeployment } from '#cli/client/deployment.ts';
import type { Command, Invocation } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import { buildInCloud } from '#cli/images/build-in-cloud.ts';
import { buildLocally } from '#cli/images/build-locally.ts';
import { findLocalEngine } from '#cli/images/find-engine.ts';
import { type BuiltImage, type ImageTag, readTag } from '#cli/images/image-tag.ts';
import { type PipConfiguration, readPipFile, readPipSecret } from '#cli/images/pip-configuration.ts';
import { type PreparedBuild, prepareBuild } from '#cli/images/prepare-build.ts';
import { stageBuild } from '#cli/images/stage-context.ts';
import { paint } from '#cli/render/paint.ts';
import { CONTAINER_ENGINES, type ContainerEngine } from '#infra/embedded/container-engine.ts';

const CLOUD_BUILD = 'cloud-build';

export const imagesBuild: Command = {
  operands: [{ name: 'DIR', summary: 'folder of a Python program, or of a Dockerfile', count: 'one' }],
  flags: [
    { name: 'tag', value: 'IMAGE', summary: 'name of the image: REGION-docker.pkg.dev/PROJECT/REPOSITORY/NAME:TAG' },
    { name: 'push', summary: 'push the image to its registry; Cloud Build always does' },
    {
      name: 'engine',
      value: 'ENGINE',
      choices: [...CONTAINER_ENGINES, CLOUD_BUILD],
      summary: 'builds the image (default: Cloud Build with --deployment, otherwise the engine that answers)',
    },
    {
      name: 'runtime',
      value: 'VERSION',
      summary: 'runtime whose packages a generated Dockerfile installs, such as pytorch-2.9',
    },
    {
      name: 'base-image',
      value: 'IMAGE',
      summary: 'image that a generated Dockerfile starts from, instead of a runtime',
    },
    {
      name: 'module',
      value: 'MODULE',
      summary: 'module that a generated Dockerfile runs (default: that of the job file)',
    },
    {
      name: 'pip-conf',
      value: 'FILE',
      summary: 'pip.conf of a private index, for a generated Dockerfile; it is not in the image',
    },
    {
      name: 'pip-secret',
      value: 'SECRET',
      summary: 'the same for Cloud Build: a secret of the project, whose value is a pip.conf',
    },
    { name: 'project', value: 'PROJECT', summary: 'project of Cloud Build (default: that of the deployment)' },
    { name: 'region', value: 'REGION', summary: 'region of Cloud Build (default: that of the repository)' },
    {
      name: 'service-account',
      value: 'EMAIL',
      summary: 'account that Cloud Build runs as (default: that of the project)',
    },
    { name: 'print', summary: 'print the Dockerfile, and build nothing' },
  ],
  rest: 'options for the engine’s build, such as --build-arg NAME=VALUE or --no-cache',
  notes:
    'Uses the Dockerfile or Containerfile in DIR; without one, a Dockerfile is generated from the program’s metadata.\nNo code in DIR runs on this machine, except in the engine.',
  async run(invocation) {
    const { flag, io, operands, isSet, print } = invocation;
    const directory = resolve(io.cwd, operands[0] ?? '');
    const prepared = await prepareBuild(directory, {
      runtime: flag('runtime'),
      baseImage: flag('base-image'),
      module: flag('module'),
      pip: await readPip(invocation),
    });
    for (const note of prepared.notes) {
      io.stderr.write(`${paint('warning:', 'yellow', io.stderr)} ${note}\n`);
    }
    if (isSet('print')) {
      const { dockerfile, dockerfileName, notes } = prepared;
      print({ json: { dockerfile, isGenerated: dockerfileName === null, notes }, text: dockerfile });
      return 0;
    }
    const tag = readTag(flag('tag'));
    const built = await build(invocation, prepared, tag);
    print(describe(tag, built, prepared));
    return 0;
  },
};

const isCloudBuild = ({ flag, deployment }: Invocation) =>
  (flag('engine') ?? (deployment === undefined ? undefined : CLOUD_BUILD)) === CLOUD_BUILD;

async function readPip(invocation: Invocation): Promise<PipConfiguration | null> {
  const { flag, io } = invocation;
  const file = flag('pip-conf');
  const secret = flag('pip-secret');
  if (file !== undefined && isCloudBuild(invocation)) {
    // Cloud Build keeps what it is sent in a bucket.
    throw new UsageFailure(
      `--pip-conf is for builds on this machine. For Cloud Build, store the file as a secret (\`gcloud secrets create pip-conf --data-file=${file}\`), and pass --pip-secret pip-conf.`,
    );
  }
  if (secret !== undefined && !isCloudBuild(invocation)) {
    throw new UsageFailure('--pip-secret is for Cloud Build. On this machine, pass the file with --pip-conf FILE.');
  }
  if (secret !== undefined) {
    return readPipSecret(secret);
  }
  return file === undefined ? null : readPipFile(resolve(io.cwd, file));
}

async function build(invocation: Invocation, prepared: PreparedBuild, tag: ImageTag): Promise<BuiltImage> {
  const { flag, isSet, io, rest: options, isJson } = invocation;
  const engine = flag('engine') ?? (invocation.deployment === undefined ? undefined : CLOUD_BUILD);
  const isPushed = engine === CLOUD_BUILD || isSet('push');
  if (isPushed && tag.host === '' && (engine === CLOUD_BUILD || !tag.name.includes('/'))) {
    throw new UsageFailure(
      `--tag ${tag.text} names no registry to push to: write REGION-docker.pkg.dev/PROJECT/REPOSITORY/${tag.text}.`,
    );
  }
  const signal = io.interrupted;
  const onLine = isJson ? undefined : (line: string) => io.stderr.write(`${line}\n`);
  const cloud = engine === CLOUD_BUILD ? await readCloud(invocation, tag) : null;
  const local = cloud === null ? await findLocalEngine(engine as ContainerEngine | undefined, signal) : 'docker';
  const staged = await stageBuild(prepared.context, prepared.dockerfile);
  try {
    const request = { folder: staged.folder, tag, options, pip: prepared.pip, signal, onLine };
    return cloud === null
      ? await buildLocally(local, { ...request, isPushed })
      : await buildInCloud({ ...request, ...cloud });
  } finally {
    await staged.remove();
  }
}

/** `us-central1-docker.pkg.dev`; multi-regions, such as `us-docker.pkg.dev`, are built in the global pool. */
const REGIONAL_HOST = /^([a-z]+-[a-z]+\d+)-docker\.pkg\.dev$/;

const SERVICE_ACCOUNT = /^[a-z0-9-]+@[a-z0-9.-]+\.gserviceaccount\.com$/;

async function readCloud({ flag, deployment, io }: Invocation, tag: ImageTag) {
  const projectId =
    flag('project') ??
    (deployment === undefined ? undefined : (await readDeployment(resolve(io.cwd, deployment))).projectId);
  if (projectId === undefined) {
    throw new UsageFailure('--engine cloud-build requires --deployment FILE or --project PROJECT.');
  }
  const serviceAccount = flag('service-account') ?? null;
  if (serviceAccount !== null && !SERVICE_ACCOUNT.test(serviceAccount)) {
    throw new UsageFailure(`--service-account ${serviceAccount} is not the e-mail address of a service account.`);
  }
  return { projectId, serviceAccount, region: flag('region') ?? REGIONAL_HOST.exec(tag.host)?.[1] ?? null };
}

/** The image with its digest, and the line for the job file. */
function describe(tag: ImageTag, { engine, digest }: BuiltImage, { dockerfileName, notes }: PreparedBuild) {
  const reference = digest === null ? tag.text : `${tag.name}@${digest}`;
  const jobFileLine = `image: ${reference}`;
  return {
    json: {
      ...{ tag: tag.text, digest, image: reference, engine, isPushed: digest !== null, jobFileLine },
      ...{ isGenerated: dockerfileName === null, notes },
    },
    text: [
      `Built ${digest === null ? '' : 'and pushed '}${tag.text} with ${engine}.`,
      `  job file  ${jobFileLine}`,
      ...(digest === null ? ['  VMs pull images from a registry: build with --push before you submit the job.'] : []),
    ].join('\n'),
  };
}
