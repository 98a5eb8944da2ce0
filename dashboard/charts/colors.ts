import { createStore } from '#dashboard/store/store.ts';

/** Colors with the same contrast in both themes, which remain distinct for readers who are color-blind. */
export const SERIES_COLOR_COUNT = 8;

export type ChartColors = {
  readonly text: string;
  readonly grid: string;
  readonly mark: string;
  readonly series: readonly string[];
};

/** How both axes of a chart look. */
export function axisStyle({ text, grid }: ChartColors) {
  const font = '11px system-ui, sans-serif';
  return { stroke: text, font, labelFont: font, grid: { stroke: grid, width: 1 }, ticks: { show: false } } as const;
}

/** The name of the style's variable for a line. */
export function seriesVariable(color: number): string {
  return `--series-${(color % SERIES_COLOR_COUNT) + 1}`;
}

let known: { readonly theme: number; readonly colors: ChartColors } | null = null;

/** The theme's colors as a canvas understands them: `rgb(…)`. Read once per theme: it makes the browser compute styles. */
export function chartColors(): ChartColors {
  const theme = themeChanges.get();
  if (known?.theme !== theme) {
    known = { theme, colors: readColors() };
  }
  return known.colors;
}

function readColors(): ChartColors {
  const probe = document.createElement('span');
  document.body.append(probe);
  const read = (variable: string) => {
    probe.style.color = `var(${variable})`;
    return getComputedStyle(probe).color;
  };
  const colors = {
    text: read('--text-muted'),
    grid: read('--border'),
    mark: read('--failed'),
    series: Array.from({ length: SERIES_COLOR_COUNT }, (_, index) => read(seriesVariable(index))),
  };
  probe.remove();
  return colors;
}

/** Counts changes of the theme: what a canvas shows must then be drawn again. */
export const themeChanges = createStore(0);

const count = () => themeChanges.set(themeChanges.get() + 1);
new MutationObserver(count).observe(document.documentElement, { attributeFilter: ['data-theme'] });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', count);
