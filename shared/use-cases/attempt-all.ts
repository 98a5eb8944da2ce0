/**
 * Does the work for every item, one after the other, and only then throws what failed: one job that cannot be handled
 * must not keep the watcher from all that come after it.
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
    throw new AggregateError(errors, `${errors.length} could not be handled, the first because: ${reason}`);
  }
}
