import type { ComponentChildren, RefObject } from 'preact';

/** A keyboard must be able to scroll it, so that it takes part in the order of the Tab key. */
const FOCUSABLE = { tabIndex: 0 } as const;

type Props = {
  readonly label: string;
  readonly class: string;
  readonly children: ComponentChildren;
  readonly region?: RefObject<HTMLElement | null>;
  readonly onScroll?: () => void;
};

/** A part of the page that scrolls by itself. */
export function ScrollRegion({ label, region, children, ...others }: Props) {
  return (
    <section {...others} {...FOCUSABLE} ref={region ?? null} aria-label={label}>
      {children}
    </section>
  );
}
