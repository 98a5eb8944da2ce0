import type { ApiError } from '#dashboard/client/api-error.ts';
import { Icon } from '#dashboard/components/icon.tsx';

type Props = { readonly error: ApiError; readonly onRetry?: () => void };

/** Why something could not be shown or done, and what to do. */
export function ErrorPanel({ error, onRetry }: Props) {
  return (
    <div class="error-panel" role="alert">
      <Icon name="error" />
      <div>
        <p class="error-message">{error.message}</p>
        {error.remedy !== '' && <p class="error-remedy">{error.remedy}</p>}
      </div>
      {onRetry !== undefined && (
        <button type="button" class="button" onClick={onRetry}>
          Retry
        </button>
      )}
    </div>
  );
}
