/** Codes of gRPC (google.rpc.Code). */
const NOT_FOUND = 5;
const PERMISSION_DENIED = 7;
const UNAUTHENTICATED = 16;

const REMEDY = 'ask the operator of the deployment to add you to submitters (roles/pubsub.publisher on the topic)';

/** Describes why a message could not be published, with what to do about it. */
export function describePubsubError(error: unknown, topic: string): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const message = error instanceof Error ? error.message : String(error);
  if (code === PERMISSION_DENIED) {
    return `You are not allowed to publish to ${topic} (403): ${REMEDY}.`;
  }
  if (code === NOT_FOUND) {
    return `The topic ${topic} does not exist (404): run \`terraform apply\`, then write the deployment file again.`;
  }
  if (code === UNAUTHENTICATED || message.includes('default credentials')) {
    return 'Pub/Sub needs credentials (401): run `gcloud auth application-default login`.';
  }
  return `Pub/Sub failed to publish to ${topic}: ${message}`;
}
