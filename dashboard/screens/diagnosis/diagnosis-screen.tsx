import { ScrollRegion } from '#dashboard/components/scroll-region.tsx';
import { RULES } from '#shared/diagnosis/rules/all-rules.ts';
import { LABELS, type LabelFacts } from '#shared/diagnosis/rules/labels.ts';

/** The meaning of a diagnosis's label: the section of docs/diagnosis.md, which a deployment does not serve. */
export function DiagnosisScreen({ label }: { readonly label: string }) {
  const facts = Object.hasOwn(LABELS, label) ? (LABELS as Readonly<Record<string, LabelFacts>>)[label] : undefined;
  if (facts === undefined) {
    return (
      <section class="empty">
        <h1 class="empty-title">There is no diagnosis of this name</h1>
        <p class="user-text">{label} may be one of another version of Dropforge: reload the page.</p>
      </section>
    );
  }
  const examples = RULES.filter((rule) => rule.label === label).map(({ example }) => example.trim());
  return (
    <article class="diagnosis">
      <header class="job-title">
        <h1 class="screen-title">{facts.title}</h1>
        <code class="alert-code">{label}</code>
      </header>
      <p>{facts.explanation}</p>
      <h2>What to do</h2>
      <p>{facts.remedy}</p>
      <p class="muted">
        {facts.canRetryHelp
          ? 'The same job may succeed when it is started again.'
          : 'Starting the same job again does not help, unless the job says otherwise.'}
      </p>
      {examples.length > 0 && (
        <>
          <h2>What it looks like</h2>
          <ScrollRegion class="code" label="Examples">
            <pre>{examples.join('\n')}</pre>
          </ScrollRegion>
        </>
      )}
    </article>
  );
}
