import type { ComponentChildren } from 'preact';
import type { ChartLinks } from '#dashboard/charts/chart-links.ts';
import { X_AXIS_NAMES, type XAxis } from '#dashboard/charts/shape/x-axis.ts';
import { SearchBox } from '#dashboard/components/search-box.tsx';
import { type ChartSettings, setChartSettings } from '#dashboard/screens/job/chart-settings.ts';
import { useStore } from '#dashboard/store/use-store.ts';

type Props = {
  readonly settings: ChartSettings;
  readonly axes: readonly XAxis[];
  readonly links: ChartLinks;
  readonly children?: ComponentChildren;
};

/** The settings that all charts of a screen share: axis, smoothing, scale, and the way back from a zoom. */
export function ChartToolbar({ settings, axes, links, children }: Props) {
  const isZoomed = Object.keys(useStore(links.zoom)).length > 0;
  return (
    <fieldset class="toolbar chart-toolbar" aria-label="Charts">
      {children}
      <span class="segments">
        {axes.map((axis) => (
          <button
            key={axis}
            type="button"
            class="chip"
            aria-pressed={axis === settings.axis}
            onClick={() => setChartSettings({ axis })}
          >
            {X_AXIS_NAMES[axis]}
          </button>
        ))}
      </span>
      <label class="check">
        Smoothing
        <input
          type="range"
          min="0"
          max="0.99"
          step="0.01"
          value={settings.smoothing}
          onInput={(event) => setChartSettings({ smoothing: Number(event.currentTarget.value) })}
        />
        <span class="smoothing-value">{settings.smoothing.toFixed(2)}</span>
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={settings.isLogarithmic}
          onChange={(event) => setChartSettings({ isLogarithmic: event.currentTarget.checked })}
        />
        Log scale
      </label>
      {isZoomed && (
        <button type="button" class="button" onClick={() => links.zoom.set({})}>
          Reset zoom
        </button>
      )}
    </fieldset>
  );
}

export function MetricSearch({ search }: { readonly search: string }) {
  return <SearchBox label="Search metrics" value={search} onInput={(text) => setChartSettings({ search: text })} />;
}
