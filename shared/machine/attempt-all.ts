/**
 * Runs the work for every item in sequence, also for those after one that fails. Throws at the end what failed, several
 * errors as one AggregateError.
 */
export async function attemptAll<Item>(items: Iterable<Item>, work: (item: Item) => Promise<unknown>): Promise<void> {
  const errors: unknown[] = [];
  for (const item of items) {
    try {
      await work(item);
    } catch (error) {
      errors.push(error);
    }
  }
  const [first] = errors;
  if (errors.length === 1) {
    throw first;
  }
  if (errors.length > 1) {
    const reason = first instanceof Error ? first.message : String(first);
    throw new AggregateError(errors, `${errors.length} items could not be handled. First error: ${reason}`);
  }
}
