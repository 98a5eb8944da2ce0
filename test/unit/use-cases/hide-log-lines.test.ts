import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { classifyExit } from '#shared/diagnosis/classify-exit.ts';
import { factsOf } from '#shared/diagnosis/job-facts.ts';
import { LABELS } from '#shared/diagnosis/rules/labels.ts';
import { CAUSES, type Cause, type CauseCode, causeOf } from '#shared/domain/cause.ts';
import { jobUpdateOf } from '#shared/domain/effect.ts';
import { EXIT_REASONS } from '#shared/domain/exit-report.ts';
import { HEALTH_ACTIONS, HEALTH_CODES } from '#shared/domain/health.ts';
import { endOfRecovery } from '#shared/domain/health-cause.ts';
import type { Job } from '#shared/domain/job.ts';
import { jobUpdatesMessageSchema } from '#shared/protocol/job-update.ts';
import { notificationChannelsSchema } from '#shared/protocol/notification-channels.ts';
import { chooseNotification } from '#shared/use-cases/notify/choose-notification.ts';
import { CAUSES_WITHOUT_LOG, hideLogLines } from '#shared/use-cases/reports/hide-log-lines.ts';
import { messageOfUpdate } from '#shared/use-cases/reports/job-update.ts';
import { type ApiUnderTest, openApiUnderTest } from '../../support/api/api-under-test.ts';
import { closedJob, queuedJob } from '../../support/domain/example-job.ts';
import { exampleReplica } from '../../support/domain/example-replica.ts';

/** What a program printed. */
const PRINTED = 'hunter2-was-printed';

/** The example job, failed for this cause in its only attempt. */
function failedFor(cause: Cause): Job {
  const attempt = { attempt: 1, zone: null, provisioningModel: null, placedAt: null, ranAt: 1, endedAt: 2, cause };
  return Object.assign({}, closedJob(), { verdict: { state: 'FAILED', cause }, ledger: [attempt] });
}

const FAILED = failedFor({
  ...causeOf('PROGRAM_FAILED', PRINTED, [PRINTED]),
  diagnosis: { label: 'user_exception', remedy: PRINTED, canRetryHelp: false, line: PRINTED },
});

/** Every cause that follows from what an agent reports, whose texts can repeat what a program printed. */
function reportedCauses(): readonly CauseCode[] {
  const exits = EXIT_REASONS.flatMap((reason) =>
    [1, 137].flatMap((exitCode) => {
      const exit = classifyExit({ reason, exitCode, signal: null, message: PRINTED, evidence: [] }, factsOf('digits'));
      return exit.outcome === 'FAILED' ? [exit.cause] : [];
    }),
  );
  const stopped = HEALTH_CODES.flatMap((code) =>
    HEALTH_ACTIONS.flatMap((action) => {
      if (action === 'warn' || action === 'ignore') {
        return [];
      }
      const health = { code, action, remedy: PRINTED };
      const facts = { reason: 'UNHEALTHY', exitCode: 1, signal: null, message: PRINTED, evidence: [], health } as const;
      const exit = classifyExit(facts, factsOf('digits'));
      return exit.outcome === 'FAILED' ? [exit.cause] : [];
    }),
  );
  const causes = [...exits, ...stopped];
  const ends = causes.flatMap((cause) => endOfRecovery(cause, Array(10).fill(cause)) ?? []);
  const labelled = Object.values(LABELS).map(({ code }): CauseCode => code);
  return [...new Set([...causes, ...ends].map(({ code }) => code).concat(labelled))];
}

describe('a record without log lines', () => {
  it('has nothing that a program printed', () => {
    expect(JSON.stringify(hideLogLines(FAILED))).not.toContain(PRINTED);
  });

  it.each(reportedCauses())('has no message of the cause %s, which an agent reports', (code) => {
    expect(JSON.stringify(hideLogLines(failedFor(causeOf(code, PRINTED))))).not.toContain(PRINTED);
  });

  it.each(CAUSES_WITHOUT_LOG)('keeps the message of the cause %s', (code) => {
    expect(CAUSES[code]).toBeDefined();
    expect(JSON.stringify(hideLogLines(failedFor(causeOf(code, 'No zone has capacity.'))))).toContain('No zone has');
  });

  it('waits without them, too', () => {
    const waiting = { ...queuedJob(), waitingFor: causeOf('SERVICE_UNREACHABLE', PRINTED, [PRINTED]) };
    expect(JSON.stringify(hideLogLines(waiting))).not.toContain(PRINTED);
  });
});

describe('with only_own_jobs', () => {
  let api: ApiUnderTest;
  beforeEach(async () => {
    api = await openApiUnderTest();
  });
  afterEach(() => api.close());

  const update = (settings: Parameters<typeof messageOfUpdate>[2]) =>
    messageOfUpdate(jobUpdateOf(FAILED), FAILED, settings).message;

  it('the topic of job updates has nothing that a program printed', () => {
    expect(JSON.stringify(update({}))).toContain(PRINTED);
    expect(JSON.stringify(update({ hidesLogLines: true }))).not.toContain(PRINTED);
  });

  it('channels are sent nothing that a program printed', async () => {
    await api.ports.jobs.create(FAILED, []);
    const finding = { code: 'NON_FINITE', message: PRINTED, remedy: PRINTED, evidence: [PRINTED] } as const;
    const health = [{ ...finding, since: 1, until: null }];
    await api.ports.replicas.record({ ...exampleReplica(), heardAt: 1_500, health });
    const { team } = notificationChannelsSchema.parse({ team: { kind: 'slack', secret: 's', states: ['FAILED'] } });
    const sent = async (hidesLogLines: boolean) => {
      const message = jobUpdatesMessageSchema.parse(update({ hidesLogLines }));
      const settings = team ?? expect.fail('The channel is missing.');
      return JSON.stringify(
        await chooseNotification({ ...api.ports, hidesLogLines }, { channel: 'team', settings, message }, 10_000),
      );
    };
    expect(await sent(false)).toContain(PRINTED);
    const hidden = await sent(true);
    expect(hidden).toContain('digits FAILED');
    expect(hidden).not.toContain(PRINTED);
  });
});
