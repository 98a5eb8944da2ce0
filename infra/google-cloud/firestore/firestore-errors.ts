/** gRPC's ALREADY_EXISTS, as Firestore's client throws it (google.rpc.Code). */
const ALREADY_EXISTS = 6;

/** Whether a write failed only because a document that it was to create is there. */
export function isAlreadyThere(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === ALREADY_EXISTS;
}
