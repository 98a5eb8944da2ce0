import type { NotifiedState } from '#shared/domain/notification.ts';
import type { UploadRefused } from '#shared/protocol/job-update.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { formatCount } from '#shared/text/format-number.ts';
import { pageOf } from '#shared/text/page-of.ts';
import {
  type Notification,
  toParagraph,
  toParagraphs,
  toTitle,
  toValue,
} from '#shared/use-cases/notify/render/notification.ts';
import { type JobFactName, listJobFacts, masterMetricsOf } from '#shared/views/describe/job-facts.ts';

const WARNINGS_COUNT_MAX = 3;

type Content = Omit<Notification, 'notificationId'>;

/** The content of a notification about a job in this state; `update` is the data of the signed webhook. */
export function describeJob(
  view: JobView,
  {
    state,
    pageUrl,
    update,
  }: { readonly state: NotifiedState; readonly pageUrl: string | undefined; readonly update: object },
): Content {
  const warnings = warningsOf(view);
  const isFinal = view.endTime !== null;
  const kind = view.tuning === null ? '' : 'Tuning ';
  const but = state === 'SUCCEEDED' && warnings.length > 0 ? `, but ${formatCount(warnings.length, 'warning')}` : '';
  const interruption = state === 'INTERRUPTED' ? view.attempts.at(-1) : undefined;
  const title = toTitle(`${kind}${view.jobId} ${state}${but}`);
  return {
    tone: toneOf(state, warnings.length > 0),
    title,
    facts: factsOf(view, pageUrl),
    paragraphs: toParagraphs([
      ...(view.cause === null || state === 'CANCELLED' ? [] : [view.cause.message, `What to do: ${view.cause.remedy}`]),
      ...(interruption?.message == null ? [] : [`${interruption.message} Attempt ${view.attempt} starts.`]),
      ...(view.waitingFor === null ? [] : [`Waiting: ${view.waitingFor.message}`]),
      ...(isFinal ? warnings.slice(0, WARNINGS_COUNT_MAX).map(({ message, remedy }) => `⚠ ${message} ${remedy}`) : []),
    ]),
    link: pageUrl === undefined ? null : { label: 'Open the job', url: pageOf(pageUrl, view.jobId) },
    event: {
      type: `job.${state.toLowerCase()}`,
      data: { ...update, title, metrics: metricsOf(view), warnings: warnings.slice(0, WARNINGS_COUNT_MAX) },
    },
  };
}

/** The content of a notification about an upload that did not become a job. */
export function describeRefusal(refused: UploadRefused): Content {
  const { source, jobId, problems, problemCount, report } = refused;
  const name = jobId ?? source.slice(source.lastIndexOf('/') + 1);
  const more = problemCount - problems.length;
  const title = toTitle(`${name} REFUSED: ${formatCount(problemCount, 'problem')}`);
  return {
    tone: 'BAD',
    title,
    facts: [
      { label: 'Upload', value: toValue(source) },
      { label: 'Report', value: toValue(report) },
    ],
    paragraphs: toParagraphs([
      ...problems.slice(0, WARNINGS_COUNT_MAX).map(({ message, remedy }) => `${message} ${remedy}`),
      ...(more > 0 || problems.length > WARNINGS_COUNT_MAX ? ['The report has all problems.'] : []),
    ]),
    link: null,
    event: { type: 'upload.refused', data: { ...refused, title } },
  };
}

/** The content of a channel's test. */
export function describeTest(channel: string, pageUrl: string | undefined): Content {
  const title = toTitle(`Test of the notification channel ${channel}`);
  return {
    tone: 'NEUTRAL',
    title,
    facts: [],
    paragraphs: ['Dropforge can send notifications to this channel. No job has changed.'],
    link: pageUrl === undefined ? null : { label: 'Open Dropforge', url: pageUrl },
    event: { type: 'notification.test', data: { type: 'NOTIFICATION_TEST', channel, title } },
  };
}

function toneOf(state: NotifiedState, hasWarnings: boolean): Notification['tone'] {
  switch (state) {
    case 'SUCCEEDED':
      return hasWarnings ? 'WARNING' : 'GOOD';
    case 'FAILED':
    case 'REFUSED':
      return 'BAD';
    case 'INTERRUPTED':
      return 'WARNING';
    default:
      return 'NEUTRAL';
  }
}

/** Health findings that lasted to the end, and warnings: what a plain SUCCEEDED would hide. */
function warningsOf({ health, warnings }: JobView) {
  const lasting = health.filter(({ untilTime }) => untilTime === null);
  return [...warnings, ...lasting].map(({ code, message, remedy }) => ({
    code,
    message: toParagraph(message),
    remedy: toParagraph(remedy),
  }));
}

function factsOf(view: JobView, pageUrl: string | undefined): Notification['facts'] {
  const names: readonly JobFactName[] = [
    ...(view.endTime === null ? [] : (['duration', 'cost', 'output'] as const)),
    ...(view.attempt > 1 ? (['attempt'] as const) : []),
    ...(['machines', 'metrics', 'optimal', 'best', 'cause'] as const),
  ];
  const facts = listJobFacts(view, names, Date.parse(view.endTime ?? view.createTime));
  return [
    ...facts.map(({ header, text }) => ({ label: header, value: toValue(text) })),
    // Only a page behind Identity-Aware Proxy, or another proxy that logs browsers in, can be opened by a link.
    { label: 'Details', value: pageUrl === undefined ? `dropforge jobs describe ${view.jobId}` : '' },
    // Discord rejects a message with an empty value.
  ].filter(({ value }) => value !== '');
}

function metricsOf(view: JobView): Readonly<Record<string, number | string>> {
  const shown = Object.entries(masterMetricsOf(view));
  return Object.fromEntries(
    shown.map(([name, value]) => [toValue(name), typeof value === 'number' ? round(value) : value]),
  );
}

function round(value: number): number {
  return Number(value.toPrecision(4));
}
