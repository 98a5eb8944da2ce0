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
  if (parseImageReference(value) !== undefined) {
    return value;
  }
  const message = `${imageUri.path} is not a valid container image: ${quote(value)}.`;
  const remedy = value.includes('://')
    ? 'Remove the scheme: write region-docker.pkg.dev/project/repository/image:tag.'
    : 'Write a lowercase name such as us-docker.pkg.dev/my-project/trainers/digits:1.';
  rejectMalformed(imageUri, { code: 'INVALID_IMAGE_URI', message, remedy, lowercasePart: value }, findings);
  return null;
}
