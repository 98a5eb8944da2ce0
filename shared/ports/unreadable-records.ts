/** Some records of a list cannot be parsed; the others can still be handled. */
export class UnreadableRecordsError<Item = unknown> extends Error {
  readonly readable: readonly Item[];

  constructor(readable: readonly Item[], errors: readonly Error[]) {
    super(`${errors.length} stored records cannot be read. First error: ${errors[0]?.message}`);
    this.readable = readable;
  }
}

/** The readable items of a list, and the error that names the unreadable ones. Rejects on any other error. */
export async function readableOf<Item>(
  list: Promise<readonly Item[]>,
): Promise<{ readonly items: readonly Item[]; readonly error: UnreadableRecordsError | null }> {
  try {
    return { items: await list, error: null };
  } catch (error) {
    if (error instanceof UnreadableRecordsError) {
      return { items: error.readable as readonly Item[], error };
    }
    throw error;
  }
}
