import { useEffect, useRef } from 'preact/hooks';
import { Icon } from '#dashboard/components/icon.tsx';
import { Toasts } from '#dashboard/components/toasts.tsx';
import { Link } from '#dashboard/navigation/link.tsx';
import { useLocation } from '#dashboard/navigation/location.ts';
import { type Route, readRoute } from '#dashboard/navigation/route.ts';
import { JobsScreen } from '#dashboard/screens/jobs/jobs-screen.tsx';
import { lazyScreen } from '#dashboard/shell/lazy-screen.tsx';
import { LiveIndicator } from '#dashboard/shell/live-indicator.tsx';
import { ThemeToggle } from '#dashboard/shell/theme-toggle.tsx';

const JobScreen = lazyScreen(async () => (await import('#dashboard/screens/job/job-screen.tsx')).JobScreen);
const CompareScreen = lazyScreen(
  async () => (await import('#dashboard/screens/compare/compare-screen.tsx')).CompareScreen,
);
const DiagnosisScreen = lazyScreen(
  async () => (await import('#dashboard/screens/diagnosis/diagnosis-screen.tsx')).DiagnosisScreen,
);
const DropScreen = lazyScreen(async () => (await import('#dashboard/screens/drop/drop-screen.tsx')).DropScreen);

/** The page: header, navigation and the screen of the address. */
export function App() {
  const { path, query } = useLocation();
  const route = readRoute(path, new URLSearchParams(query));
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${titleOf(route)} · Dropforge`;
    // After a navigation, screen readers continue at the new screen, as they do when a page is loaded.
    if (!isFirst.current) {
      main.current?.focus({ preventScroll: true });
    }
    isFirst.current = false;
  }, [path]);
  return (
    <>
      <a class="skip-link" href="#main">
        Skip to the content
      </a>
      <header class="header">
        <Link href="/" class="logo" aria-label="Dropforge, all jobs">
          <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
            <path d="M10 1.5c3 4.4 5.5 7 5.5 10.6a5.5 5.5 0 0 1-11 0C4.5 8.5 7 5.9 10 1.5Z" fill="currentColor" />
          </svg>
          <span class="logo-text">Dropforge</span>
        </Link>
        <nav class="nav" aria-label="Screens">
          <Link href="/" class="nav-link" isCurrent={route.screen === 'jobs' || route.screen === 'job'}>
            Jobs
          </Link>
          <Link href="/compare" class="nav-link" isCurrent={route.screen === 'compare'}>
            Compare
          </Link>
        </nav>
        <div class="header-end">
          <LiveIndicator />
          <ThemeToggle />
          <Link href="/drop" class="button button-primary" aria-label="New job">
            <Icon name="upload" />
            <span class="wide-only">New job</span>
          </Link>
        </div>
      </header>
      <main id="main" class="main" ref={main} tabIndex={-1}>
        <Screen key={path} route={route} />
      </main>
      <Toasts />
    </>
  );
}

function Screen({ route }: { readonly route: Route }) {
  switch (route.screen) {
    case 'jobs':
      return <JobsScreen />;
    case 'job':
      return <JobScreen jobId={route.jobId} />;
    case 'compare':
      return <CompareScreen jobIds={route.jobIds} />;
    case 'drop':
      return <DropScreen />;
    case 'diagnosis':
      return <DiagnosisScreen label={route.label} />;
    case 'unknown':
      return (
        <section class="empty">
          <h1 class="empty-title">This address does not exist</h1>
          <p>
            <Link href="/">Show all jobs</Link>
          </p>
        </section>
      );
  }
}

function titleOf(route: Route): string {
  switch (route.screen) {
    case 'jobs':
      return 'Jobs';
    case 'job':
      return route.jobId;
    case 'compare':
      return 'Compare';
    case 'drop':
      return 'New job';
    case 'diagnosis':
      return route.label;
    case 'unknown':
      return 'Not found';
  }
}
