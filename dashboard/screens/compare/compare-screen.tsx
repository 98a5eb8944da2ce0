import { EmptyState } from '#dashboard/components/empty-state.tsx';

/** The curves and parameters of several jobs side by side. */
export function CompareScreen({ jobIds }: { readonly jobIds: readonly string[] }) {
  return (
    <section>
      <h1 class="screen-title">Compare</h1>
      {jobIds.length === 0 && <EmptyState title="Select jobs in the list of jobs to compare them." />}
    </section>
  );
}
