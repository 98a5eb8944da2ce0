import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { inNextFrames } from '#dashboard/charts/draw-queue.ts';

/** Charts within this distance of the window are drawn, so that scrolling shows them at once. */
const MARGIN_PX = 300;

/** Whether an element is in the window or close to it, soon after it is. */
export function useVisible(element: RefObject<HTMLElement | null>): boolean {
  const [isVisible, setVisible] = useState(false);
  useEffect(() => {
    if (element.current === null) {
      return;
    }
    let cancel: () => void = () => {};
    const observer = new IntersectionObserver(
      (entries) => {
        cancel();
        if (entries.at(-1)?.isIntersecting === true) {
          cancel = inNextFrames(() => setVisible(true));
        } else {
          setVisible(false);
        }
      },
      { rootMargin: `${MARGIN_PX}px` },
    );
    observer.observe(element.current);
    return () => {
      cancel();
      observer.disconnect();
    };
  }, []);
  return isVisible;
}
