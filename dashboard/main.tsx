import { render } from 'preact';
import { startLiveUpdates } from '#dashboard/client/live.ts';
import { followHistory } from '#dashboard/navigation/location.ts';
import { App } from '#dashboard/shell/app.tsx';

followHistory();
startLiveUpdates();
const root = document.getElementById('app');
if (root !== null) {
  render(<App />, root);
}
