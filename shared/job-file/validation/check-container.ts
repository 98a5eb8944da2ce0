import { parseImageReference } from '#shared/domain/image-reference.ts';
import type { ContainerProgram } from '#shared/domain/job-spec.ts';
import type { KeyedText } from '#shared/job-file/draft/job-draft.ts';
import type { Findings, Located } from '#shared/job-file/parser/findings.ts';
import { quote, rejectMalformed } from '#shared/job-file/parser/record-findings.ts';
import { checkArguments, checkEnvironment } from '#shared/job-file/validation/check-arguments.ts';

/** A container as requested, with fields inherited from the master resolved. */
export type ContainerDraft = {
  readonly imageUri: Located<string>;
  readonly command: readonly Located<string>[];
  readonly args: readonly Located<string>[];
  readonly environment: readonly Located<KeyedText>[];
};

/** Such as `image: 5`: a valid name on Docker Hub, but almost certainly a mistake. */
const NUMBER = /^[\d.]+$/;

const NAME_REMEDY = 'Write a lowercase name such as us-docker.pkg.dev/my-project/trainers/digits:1.';

/** The container to run; null if any part of it is invalid. */
export function checkContainer(container: ContainerDraft, findings: Findings): ContainerProgram | null {
  const imageUri = checkImage(container.imageUri, findings);
  const commandLine = checkArguments([...container.command, ...container.args], findings);
  const environment = checkEnvironment(container.environment, findings);
  if (imageUri === null || commandLine === null || environment === null) {
    return null;
  }
  const commandCount = container.command.length;
  return {
    kind: 'CONTAINER',
    imageUri,
    image: null,
    command: commandLine.slice(0, commandCount),
    args: commandLine.slice(commandCount),
    environment,
    packageUris: [],
    module: null,
  };
}

/** An image reference; null if it is invalid. */
export function checkImage(imageUri: Located<string>, findings: Findings): string | null {
  const { value } = imageUri;
  if (parseImageReference(value) !== undefined && !NUMBER.test(value)) {
    return value;
  }
  const message = `${imageUri.path} is not a valid container image: ${quote(value)}.`;
  const remedy = remedyOf(value);
  // Capitals are placeholders in gcr.io/PROJECT/NAME and IMAGE_URI, and rather a wrong name in NAME:1.
  const lowercasePart = /^[^/]+:/.test(value) ? '' : value;
  rejectMalformed(imageUri, { code: 'INVALID_IMAGE_URI', message, remedy, lowercasePart }, findings);
  return null;
}

/** Says what to do about the part that is not valid: scheme, name, tag or digest. */
function remedyOf(value: string): string {
  if (value.includes('://')) {
    return 'Remove the scheme: write region-docker.pkg.dev/project/repository/image:tag.';
  }
  if (NUMBER.test(value)) {
    return NAME_REMEDY;
  }
  if (/(^|\/)Dockerfile$/i.test(value)) {
    return `Build an image of it first: docker build (docs/containers.md). ${NAME_REMEDY}`;
  }
  const [name = '', digest] = value.split('@');
  const tagAt = name.indexOf(':', name.lastIndexOf('/') + 1);
  const repository = tagAt === -1 ? name : name.slice(0, tagAt);
  const lowercase = repository.toLowerCase() + value.slice(repository.length);
  if (parseImageReference(lowercase) !== undefined) {
    return `Names of repositories are lowercase: write ${lowercase}.`;
  }
  if (parseImageReference(repository) === undefined) {
    return NAME_REMEDY;
  }
  return digest === undefined
    ? 'A tag has 1 to 128 letters, digits, "_", "." and "-".'
    : 'A digest is "sha256:" and 64 hexadecimal digits.';
}
