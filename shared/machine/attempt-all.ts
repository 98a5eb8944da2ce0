/**
 * Runs the work for every item in sequence, and throws all errors at the end as one AggregateError: an item that fails
 * must not prevent the reconciler from handling those after it.
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
  if (errors.length > 0) {
    const [first] = errors;
    const reason = first instanceof Error ? first.message : String(first);
    throw new AggregateError(errors, `${errors.length} items could not be handled. First error: ${reason}`);
  }
}
