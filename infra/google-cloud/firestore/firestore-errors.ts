/** The gRPC code that Firestore's client throws if a document to be created exists (google.rpc.Code). */
const ALREADY_EXISTS = 6;

/** Whether a write failed because a document that it creates exists. */
export function isAlreadyExisting(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === ALREADY_EXISTS;
}
