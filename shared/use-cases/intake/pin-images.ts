import type { Architecture } from '#shared/domain/architecture.ts';
import { type ImageReference, parseImageReference } from '#shared/domain/image-reference.ts';
import type { ContainerProgram, JobSpec, PinnedImage, Program, ReplicaGroup, Role } from '#shared/domain/job-spec.ts';
import { type JobDraft, masterOf } from '#shared/job-file/draft/job-draft.ts';
import { locationOf, type SourceLocation, unique } from '#shared/job-file/parser/findings.ts';
import { type ImageAnswer, type ImageRegistry, RegistryUnavailableError } from '#shared/ports/image-registry.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import { checkImage } from '#shared/use-cases/intake/check-image.ts';
import { checkImageHosts } from '#shared/use-cases/intake/check-image-hosts.ts';
import { describeImageRejection } from '#shared/use-cases/intake/describe-image-rejection.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/intake-settings.ts';

export type ImagePorts = {
  readonly registry: ImageRegistry;
  readonly intake: Pick<IntakeSettings, 'containers' | 'architectureOf' | 'internetAccess'>;
};

/** The image that a group of the job runs, as it was found in the registry. */
export type ResolvedImage = {
  readonly role: Role;
  readonly imageUri: string;
  readonly image: PinnedImage;
};

export type PinnedImages = {
  /** With the images that were found; they are complete if there are no problems. */
  readonly spec: JobSpec;
  readonly images: readonly ResolvedImage[];
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** A registry that did not answer: the submission can be accepted as it is, later. */
  readonly unavailable: readonly Problem[];
};

/**
 * Finds the images of a job's containers in their registries and pins their digests, so that every attempt and every
 * trial runs the same bytes. Each image is looked up once for each architecture.
 */
export async function pinImages(ports: ImagePorts, spec: JobSpec, draft: JobDraft): Promise<PinnedImages> {
  const groups = spec.replicaGroups.flatMap((group) => {
    const program = group.program ?? spec.program;
    return program.kind === 'CONTAINER' ? { group, program, location: locationOfImage(draft, group.role) } : [];
  });
  const [first] = groups;
  if (first === undefined) {
    return { spec, images: [], problems: [], warnings: [], unavailable: [] };
  }
  const { containers, architectureOf, internetAccess } = ports.intake;
  if (!(await containers.hasEngine())) {
    return { spec, images: [], problems: [{ ...NO_ENGINE, ...first.location }], warnings: [], unavailable: [] };
  }
  const images = groups.map(({ program, location }) => ({ imageUri: program.imageUri, location }));
  const hosts = checkImageHosts(images, spec, internetAccess);
  if (hosts.problems.length > 0) {
    return { spec, images: [], ...hosts, unavailable: [] };
  }
  const lookup = createLookup(ports.registry);
  const pinned = await Promise.all(
    groups.map(async ({ group, program, location }) => {
      const architecture = architectureOf(group.machineType);
      const found = await pinProgram(lookup, { program, group, architecture }, containers.allowsRoot);
      return { group, ...found, problem: found.problem && { ...found.problem, ...location } };
    }),
  );
  const problems = unique(pinned.flatMap(({ problem }) => problem ?? []));
  const isTransient = ({ code }: Problem) => code === 'REGISTRY_UNAVAILABLE';
  return {
    spec: withPrograms(spec, new Map(pinned.map(({ group, program }) => [group.role, program]))),
    images: pinned.flatMap(({ group, program: { imageUri, image } }) =>
      image === null ? [] : { role: group.role, imageUri, image },
    ),
    problems: problems.filter((problem) => !isTransient(problem)),
    warnings: hosts.warnings,
    unavailable: problems.filter(isTransient),
  };
}

const NO_ENGINE = {
  code: 'CONTAINER_ENGINE_MISSING',
  message: 'The job runs a container, and no command `docker` answers on this machine.',
  remedy:
    'Install Docker, or podman-docker beside Podman, or start its service (`docker info` shows why it does not answer, such as a user who is not in the group docker), and submit the job again; or run it in a deployment on Google Cloud, whose VMs have Docker.',
};

type Lookup = (reference: ImageReference, architecture: Architecture) => Promise<ImageAnswer>;

function createLookup(registry: ImageRegistry): Lookup {
  const answers = new Map<string, Promise<ImageAnswer>>();
  return (reference, architecture) => {
    const key = JSON.stringify([reference, architecture]);
    const answer = answers.get(key) ?? registry.resolve({ reference, architecture });
    answers.set(key, answer);
    return answer;
  };
}

type Requested = {
  readonly program: ContainerProgram;
  readonly group: ReplicaGroup;
  readonly architecture: Architecture;
};

async function pinProgram(
  lookup: Lookup,
  { program, group, architecture }: Requested,
  allowsRoot: boolean,
): Promise<{ readonly program: ContainerProgram; readonly problem: Problem | null }> {
  const reference = parseImageReference(program.imageUri);
  if (reference === undefined) {
    // The validation of the job file accepts references only, so this is a defect.
    throw new Error(`${program.imageUri} is not an image reference.`);
  }
  try {
    const answer = await lookup(reference, architecture);
    if (answer.kind === 'REJECTED') {
      const context = { imageUri: program.imageUri, reference, group, architecture };
      return { program, problem: describeImageRejection(answer.rejection, context) };
    }
    const image = { ...answer.image, platform: `linux/${architecture}` };
    const found = { ...program, image };
    return { program: found, problem: checkImage(found, image, { group, allowsRoot }) };
  } catch (error) {
    if (!(error instanceof RegistryUnavailableError)) {
      throw error;
    }
    const message = `The image ${program.imageUri} could not be checked. ${error.message}`;
    const remedy = 'It is tried again a few times. If this does not change, submit the job again later.';
    return { program, problem: { code: 'REGISTRY_UNAVAILABLE', message, remedy } };
  }
}

/** A group whose processors differ from the master's has an image of its own. */
function withPrograms(spec: JobSpec, pinned: ReadonlyMap<Role, ContainerProgram>): JobSpec {
  const [master] = spec.replicaGroups;
  const own = pinned.get(master.role);
  const program = master.program === null ? (own ?? spec.program) : spec.program;
  const withOwn = (group: ReplicaGroup): ReplicaGroup => {
    const found = pinned.get(group.role);
    const isShared = group.program === null && (found === undefined || isSameImage(found, program));
    return isShared || found === undefined ? group : { ...group, program: found };
  };
  const [first, ...others] = spec.replicaGroups;
  return { ...spec, program, replicaGroups: [withOwn(first), ...others.map(withOwn)] };
}

function isSameImage({ image }: ContainerProgram, program: Program): boolean {
  return program.kind === 'CONTAINER' && program.image?.uri === image?.uri;
}

function locationOfImage(draft: JobDraft, role: Role): SourceLocation {
  const own = draft.pools.find((pool) => pool.role === role)?.program.imageUri;
  const image = own ?? masterOf(draft).program.imageUri;
  return image === undefined ? { path: '' } : locationOf(image);
}
