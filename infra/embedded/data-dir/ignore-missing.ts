/** Handles the rejection of a call for a file that need not exist: returns undefined, or throws any other error. */
export function ignoreMissing(error: unknown): undefined {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) {
    throw error;
  }
}
