import { seriesVariable } from '#dashboard/charts/colors.ts';
import { Icon } from '#dashboard/components/icon.tsx';
import { ScrollRegion } from '#dashboard/components/scroll-region.tsx';
import { formatPercent } from '#dashboard/format/format-number.ts';
import { addressOfFile, fileNameOf } from '#dashboard/screens/job/profile/profile-file.ts';
import { FRAME_KIND_NAMES, FRAME_KINDS, type FrameKind } from '#shared/diagnosis/profile/frame-kinds.ts';
import { describePlace } from '#shared/diagnosis/profile/profile-samples.ts';
import type { ProfileView } from '#shared/protocol/profile-view.ts';

type Verdict = NonNullable<ProfileView['verdict']>;

type Props = {
  readonly view: ProfileView;
  /** Of the job in the API. */
  readonly path: string;
};

/** What limits the training, by which evidence, and the recording itself. */
export function ProfileVerdict({ view, path }: Props) {
  const { verdict, file, message, profileId } = view;
  return (
    <section class="card profile-verdict" aria-label={`Profile ${profileId}`}>
      <header class="section-header">
        <h2 class="user-text">{verdict === null ? profileId : verdict.summary}</h2>
      </header>
      {verdict === null ? <p>{message}</p> : <Findings verdict={verdict} />}
      {file !== null && (
        <p class="profile-download">
          <a class="button" href={addressOfFile(file, path)} download={fileNameOf(file)}>
            <Icon name="download" />
            Download for speedscope
          </a>
          <span class="muted">
            <span class="mono user-text">{profileId}</span>. Open the file at{' '}
            <a href="https://www.speedscope.app" target="_blank" rel="noreferrer">
              speedscope.app
            </a>
            , which reads it in the browser and sends it nowhere.
          </span>
        </p>
      )}
    </section>
  );
}

function Findings({ verdict }: { readonly verdict: Verdict }) {
  return (
    <>
      <p class="user-text">{verdict.remedy}</p>
      <Shares shares={verdict.shares} />
      <ul class="profile-evidence muted">
        {verdict.evidence.map((line) => (
          <li key={line} class="user-text">
            {line}
          </li>
        ))}
      </ul>
      {verdict.topFrames.length > 0 && <TopFrames frames={verdict.topFrames} />}
    </>
  );
}

const colorOf = (kind: FrameKind) => ({ color: `var(${seriesVariable(FRAME_KINDS.indexOf(kind))})` });

/** How the main thread spent its time, as one bar. */
function Shares({ shares }: Pick<Verdict, 'shares'>) {
  const shown = FRAME_KINDS.filter((kind) => (shares[kind] ?? 0) > 0);
  return (
    <div class="profile-shares">
      <div class="profile-bar" aria-hidden="true">
        {shown.map((kind) => (
          <span key={kind} style={{ ...colorOf(kind), width: `${100 * (shares[kind] ?? 0)}%` }} />
        ))}
      </div>
      <ul class="legend" aria-label="Time of the main thread">
        {shown.map((kind) => (
          <li key={kind} class="legend-item">
            <span class="phase-swatch profile-swatch" style={colorOf(kind)} aria-hidden="true" />
            <span class="legend-label">{FRAME_KIND_NAMES[kind]}</span>
            <span class="legend-value">{formatPercent(shares[kind] ?? 0)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function TopFrames({ frames }: { readonly frames: Verdict['topFrames'] }) {
  return (
    <ScrollRegion class="profile-frames" label="Functions that took most of the time">
      <table class="table">
        <thead>
          <tr>
            <th scope="col" class="number">
              Time
            </th>
            <th scope="col">Kind</th>
            <th scope="col">Function</th>
            <th scope="col">Where</th>
            <th scope="col">Called from</th>
          </tr>
        </thead>
        <tbody>
          {frames.map((frame) => (
            <tr key={JSON.stringify(frame)}>
              <td class="number">{formatPercent(frame.fraction)}</td>
              <td>{FRAME_KIND_NAMES[frame.kind]}</td>
              <td class="mono user-text">{frame.name}</td>
              <td class="mono user-text" title={frame.file}>
                {describePlace(frame)}
              </td>
              <td class="mono user-text" title={frame.calledFrom?.file}>
                {frame.calledFrom !== null && `${frame.calledFrom.name} ${describePlace(frame.calledFrom)}`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}
