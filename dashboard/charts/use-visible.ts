import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/** Charts within this distance of the window are drawn, so that scrolling shows them at once. */
const MARGIN_PX = 300;

/** Whether an element is in the window or close to it. */
export function useVisible(element: RefObject<HTMLElement | null>): boolean {
  const [isVisible, setVisible] = useState(false);
  useEffect(() => {
    if (element.current === null) {
      return;
    }
    const observer = new IntersectionObserver((entries) => setVisible(entries.at(-1)?.isIntersecting === true), {
      rootMargin: `${MARGIN_PX}px`,
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return isVisible;
}
