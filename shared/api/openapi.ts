import * as z from 'zod';
import { changesSchema } from '#shared/ports/change-feed.ts';
import { logPageSchema } from '#shared/ports/log-store.ts';
import { notificationRecordSchema } from '#shared/ports/notification-log.ts';
import * as listed from '#shared/protocol/answers.ts';
import { jobDefinitionSchema } from '#shared/protocol/job-definition.ts';
import { jobFilesSchema } from '#shared/protocol/job-files.ts';
import { jobViewSchema } from '#shared/protocol/job-view.ts';
import { seriesIndexSchema, seriesPageSchema } from '#shared/protocol/metric-series.ts';
import { problemSchema } from '#shared/protocol/problem.ts';
import { runningSummarySchema } from '#shared/protocol/running-summary.ts';
import * as requests from '#shared/protocol/submission.ts';
import { trialViewSchema } from '#shared/protocol/tuning-view.ts';

const answers = {
  ...{
    jobViewSchema,
    trialViewSchema,
    ...listed,
    jobDefinitionSchema,
    logPageSchema,
    jobFilesSchema,
    seriesIndexSchema,
  },
  ...{ seriesPageSchema, runningSummarySchema, changesSchema, notificationRecordSchema, problemSchema },
};

type Body = z.ZodType | 'bytes';
type Operation = readonly [route: string, summary: string, answer: Body, request?: Body];

/** By operationId. Parameters of the query follow the path, with `*` if they may be repeated. */
const OPERATIONS: Readonly<Record<string, Operation>> = {
  listJobs: [
    'GET /v1/jobs?state&text&label*&id*&view&pageSize&pageToken',
    'Jobs and tunings, newest first',
    answers.jobListSchema,
  ],
  submitJob: ['POST /v1/jobs', 'Submit a job file', answers.jobViewSchema, requests.submitJobFileSchema],
  getJob: ['GET /v1/jobs/{jobId}', 'A job or tuning', answers.jobViewSchema],
  cancelJob: ['POST /v1/jobs/{jobId}:cancel', 'Cancel a job or tuning', answers.jobViewSchema],
  releaseVm: ['POST /v1/jobs/{jobId}:release', 'End the time of a VM that is kept', answers.jobViewSchema],
  openShell: [
    'POST /v1/jobs/{jobId}:openShell',
    'Name the VM for a shell, and record who asks',
    answers.shellTargetSchema,
    requests.shellRequestSchema,
  ],
  getHistory: ['GET /v1/jobs/{jobId}/history', 'Events that changed it, oldest first', answers.jobHistorySchema],
  getDefinition: ['GET /v1/jobs/{jobId}/definition', 'What it runs', answers.jobDefinitionSchema],
  readLogs: ['GET /v1/jobs/{jobId}/logs?cursor&replica&pageSize', 'Lines after the cursor', answers.logPageSchema],
  listTrials: ['GET /v1/jobs/{jobId}/trials?pageSize&pageToken', 'Trials of a tuning', answers.trialPageSchema],
  getTrial: ['GET /v1/jobs/{jobId}/trials/{trialId}', 'A trial with its curve', answers.trialDetailSchema],
  listFiles: ['GET /v1/jobs/{jobId}/files?prefix&pageSize&pageToken', 'A folder of files', answers.jobFilesSchema],
  downloadFile: ['GET /v1/jobs/{jobId}/files/content?name', 'A file, also in ranges', 'bytes'],
  listSeries: ['GET /v1/jobs/{jobId}/metrics', 'The names of all series', answers.seriesIndexSchema],
  readPoints: [
    'GET /v1/jobs/{jobId}/metrics/points?name*&kind&replica&from&to&pointsMax',
    'The points of series',
    answers.seriesPageSchema,
  ],
  readSparklines: ['GET /v1/metrics/sparklines?series*', 'Metrics of several jobs', answers.sparklinesSchema],
  getRunning: ['GET /v1/running', 'What runs now, and its price', answers.runningSummarySchema],
  listChanges: ['GET /v1/changes?since&job', 'What changed since this marker', answers.changesSchema],
  uploadPart: ['PUT /v1/uploads/{uploadId}/parts/{part}', 'Store a part', answers.uploadedPartSchema, 'bytes'],
  validateUpload: [
    'POST /v1/uploads/{uploadId}:validate',
    'Findings, machines and price of a package',
    requests.submissionVerdictSchema,
    requests.validateUploadSchema,
  ],
  startUpload: [
    'POST /v1/uploads/{uploadId}:start',
    'Start the job of a package',
    answers.jobViewSchema,
    requests.startUploadSchema,
  ],
  listNotifications: ['GET /v1/notifications', 'Channels, and what failed', answers.notificationListSchema],
  testChannels: ['POST /v1/notifications:test?channel', 'Send tests', answers.notificationTestsSchema],
  getNotification: ['GET /v1/notifications/{id}', 'What came of one', answers.notificationRecordSchema],
  getDocument: ['GET /v1/openapi.json', 'This document', z.looseObject({})],
};

/** Returns the OpenAPI document of the API, whose components are the schemas that its clients parse answers with. */
export function describeApi() {
  const paths: Record<string, Record<string, object>> = {};
  for (const [operationId, [route, summary, answer, request]] of Object.entries(OPERATIONS)) {
    const [, method = '', path = '', query = ''] = /^(\w+) ([^?]+)\??(.*)$/.exec(route) ?? [];
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
      ...parameter(name, 'path'),
      required: true,
    }));
    const inQuery = query
      .split('&')
      .filter(Boolean)
      .map((name) => parameter(name, 'query'));
    const description = 'What is wrong, and what to do';
    const responses = {
      200: { description: summary, ...contentOf(answer) },
      default: { description, ...contentOf(answers.errorSchema) },
    };
    const described = {
      operationId,
      summary,
      parameters: [...inPath, ...inQuery],
      ...(request && { requestBody: contentOf(request) }),
      responses,
    };
    paths[path] = { ...paths[path], [method.toLowerCase()]: described };
  }
  const schemas = { ...componentsOf(answers, 'output'), ...componentsOf(requests, 'input') };
  const identityToken = {
    type: 'http',
    scheme: 'bearer',
    description: 'On Google Cloud, an identity token with the API as audience',
  };
  return {
    openapi: '3.1.1',
    info: { title: 'Dropforge', version: 'v1' },
    servers: [{ url: '/' }],
    security: [{ identityToken: [] }, {}],
    paths,
    components: { schemas, securitySchemes: { identityToken } },
  };
}

function parameter(name: string, place: 'path' | 'query') {
  const schema = name.endsWith('*') ? { type: 'array', items: { type: 'string' } } : { type: 'string' };
  return { name: name.replace('*', ''), in: place, schema };
}

function contentOf(body: Body) {
  const [key] = Object.entries({ ...answers, ...requests }).find(([_, schema]) => schema === body) ?? [];
  const schema = key === undefined ? { type: 'object' } : { $ref: refTo(componentOf(key)) };
  return { content: body === 'bytes' ? { 'application/octet-stream': {} } : { 'application/json': { schema } } };
}

function refTo(name: string): string {
  return `#/components/schemas/${name}`;
}

/** `JobList` for `jobListSchema`. */
function componentOf(key: string): string {
  return key.charAt(0).toUpperCase() + key.slice(1).replace(/Schema$/, '');
}

/** The schemas of a module, of which one may contain others. A later version may add fields to them. */
function componentsOf(module: Readonly<Record<string, unknown>>, io: 'input' | 'output'): Record<string, object> {
  const registry = z.registry<{ readonly id: string }>();
  for (const [key, schema] of Object.entries(module)) {
    if (schema instanceof z.ZodObject) {
      registry.add(schema, { id: componentOf(key) });
    }
  }
  const override = ({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }) => {
    if (jsonSchema.additionalProperties === false) {
      delete jsonSchema.additionalProperties;
    }
  };
  const { schemas } = z.toJSONSchema(registry, { io, unrepresentable: 'any', uri: refTo, override });
  return Object.fromEntries(Object.entries(schemas).map(([name, { $schema, $id, ...schema }]) => [name, schema]));
}
