import type { ComponentChildren } from 'preact';
import { navigate } from '#dashboard/navigation/location.ts';

type LinkProps = {
  readonly href: string;
  readonly children: ComponentChildren;
  readonly class?: string;
  readonly title?: string;
  readonly 'aria-label'?: string;
  readonly isCurrent?: boolean;
};

/** A link to another screen, without loading the page again. Opening it in a new tab works as usual. */
export function Link({ href, children, isCurrent = false, ...others }: LinkProps) {
  const follow = (event: MouseEvent) => {
    const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
    if (isPlain) {
      event.preventDefault();
      navigate(href);
    }
  };
  return (
    <a {...others} href={href} onClick={follow} aria-current={isCurrent ? 'page' : undefined}>
      {children}
    </a>
  );
}
