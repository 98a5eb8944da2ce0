import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

/** Rows rendered before and after the visible ones, so that fast scrolling shows no gap. */
const ROWS_AROUND = 12;

/** The rows to render, and the heights of the rows above and below that are not. */
export type RowWindow = {
  readonly first: number;
  /** One past the last row. */
  readonly end: number;
  readonly heightBefore: number;
  readonly heightAfter: number;
};

/**
 * The rows of a long table that are near the visible part of the page. All rows have the same height, which is that of
 * the rendered ones.
 */
export function useRowWindow(body: RefObject<HTMLElement | null>, count: number, rowHeight: number): RowWindow {
  const [first, setFirst] = useState(0);
  const visibleCount = Math.ceil(window.innerHeight / rowHeight) + 2 * ROWS_AROUND;
  useLayoutEffect(() => {
    const update = () => {
      const top = body.current?.getBoundingClientRect().top ?? 0;
      const firstVisible = Math.max(0, Math.floor(-top / rowHeight) - ROWS_AROUND);
      // In steps, so that most scroll events render nothing.
      setFirst(Math.floor(firstVisible / 4) * 4);
    };
    update();
    window.addEventListener('scroll', update, { passive: true });
    window.addEventListener('resize', update);
    return () => {
      window.removeEventListener('scroll', update);
      window.removeEventListener('resize', update);
    };
  }, [body, rowHeight, count]);
  const start = Math.max(0, Math.min(first, count - visibleCount));
  const end = Math.min(count, start + visibleCount + 4);
  return { first: start, end, heightBefore: start * rowHeight, heightAfter: (count - end) * rowHeight };
}
