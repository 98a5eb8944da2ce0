import type { ComponentChildren } from 'preact';

type Props = { readonly name: string; readonly title?: string; readonly children: ComponentChildren };

/** A name and a value in a list of facts. */
export function Fact({ name, title, children }: Props) {
  return (
    <div class="fact" title={title}>
      <dt class="user-text">{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
