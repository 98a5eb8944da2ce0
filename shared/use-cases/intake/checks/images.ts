import type { Architecture } from '#shared/domain/architecture.ts';
import { type ImageReference, parseImageReference } from '#shared/domain/image-reference.ts';
import type { ContainerProgram, JobSpec, Program, ReplicaGroup } from '#shared/domain/job-spec.ts';
import type { Role } from '#shared/domain/replica-name.ts';
import { type JobDraft, masterOf } from '#shared/job-file/draft/job-draft.ts';
import { locationOf, type SourceLocation, unique } from '#shared/job-file/parser/findings.ts';
import { type ImageAnswer, type ImageRegistry, RegistryUnavailableError } from '#shared/ports/image-registry.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import type { Check, NamedImage } from '#shared/use-cases/intake/checks/check.ts';
import { describeImageRejection } from '#shared/use-cases/intake/checks/describe-image-rejection.ts';
import { describeUnfitImage } from '#shared/use-cases/intake/checks/image.ts';

/** The images that the job file names for the containers of a job. */
export function namedImagesOf({ program, replicaGroups }: JobSpec, draft: JobDraft): readonly NamedImage[] {
  return replicaGroups.flatMap((group) => {
    const { role } = group;
    const own = group.program ?? program;
    return own.kind === 'CONTAINER' ? { role, imageUri: own.imageUri, location: locationOfImage(draft, role) } : [];
  });
}

/**
 * Finds the images of a job's containers in their registries and pins their digests, so that every attempt and every
 * trial runs the same bytes. Each image is looked up once for each architecture.
 */
export const checkImages: Check = async ({ spec, images }, { registry, intake }) => {
  const { containers, architectureOf } = intake;
  const lookup = createLookup(registry);
  const pinned = await Promise.all(
    spec.replicaGroups.map(async (group) => {
      const program = group.program ?? spec.program;
      if (program.kind !== 'CONTAINER') {
        return [];
      }
      const architecture = architectureOf(group.machineType);
      const found = await pinProgram(lookup, { program, group, architecture }, containers.allowsRoot);
      const location = images.find(({ role }) => role === group.role)?.location;
      return [{ role: group.role, ...found, problem: found.problem && { ...found.problem, ...location } }];
    }),
  );
  const found = pinned.flat();
  const problems = unique(found.flatMap(({ problem }) => problem ?? []));
  const isTransient = ({ code }: Problem) => code === 'REGISTRY_UNAVAILABLE';
  return {
    problems: problems.filter((problem) => !isTransient(problem)),
    unavailable: problems.filter(isTransient),
    pins: { spec: withPrograms(spec, new Map(found.map(({ role, program }) => [role, program]))) },
  };
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
    return { program: found, problem: describeUnfitImage(found, image, { group, allowsRoot }) };
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
