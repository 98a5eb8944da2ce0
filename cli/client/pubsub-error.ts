/** Codes of gRPC (google.rpc.Code). */
const NOT_FOUND = 5;
const PERMISSION_DENIED = 7;
const UNAUTHENTICATED = 16;

const REMEDY_OF = {
  'publish to': 'ask the operator of the deployment to add you to submitters (roles/pubsub.publisher on the topic)',
  'subscribe to': 'ask the operator of the deployment to add you to update_followers',
} as const;

/** Describes an error of the Pub/Sub client, with what to do about it. */
export function describePubsubError(
  error: unknown,
  { topic, verb }: { readonly topic: string; readonly verb: keyof typeof REMEDY_OF },
): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const message = error instanceof Error ? error.message : String(error);
  if (code === PERMISSION_DENIED) {
    return `You are not allowed to ${verb} ${topic} (403): ${REMEDY_OF[verb]}.`;
  }
  if (code === NOT_FOUND) {
    return `The topic ${topic} does not exist (404): run \`terraform apply\`, then write the deployment file again.`;
  }
  if (code === UNAUTHENTICATED || message.includes('default credentials')) {
    return 'Pub/Sub needs credentials (401): run `gcloud auth application-default login`.';
  }
  return `Pub/Sub failed to ${verb} ${topic}: ${message}`;
}
