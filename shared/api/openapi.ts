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
  ...listed,
  ...{ jobViewSchema, trialViewSchema, jobDefinitionSchema, logPageSchema, jobFilesSchema, seriesIndexSchema },
  ...{ seriesPageSchema, runningSummarySchema, changesSchema, notificationRecordSchema, problemSchema },
};

type NameIn<Schemas> = keyof Schemas extends infer Key ? (Key extends `${infer Name}Schema` ? Name : never) : never;
type Body = NameIn<typeof answers> | NameIn<typeof requests> | 'bytes' | 'document';
type Operation = readonly [route: string, summary: string, answer: Body, request?: Body];

/** By operationId. Parameters of the query follow the path, with `*` if they may be repeated, and `!` if required. */
const OPERATIONS: Readonly<Record<string, Operation>> = {
  listJobs: ['GET /v1/jobs?state&text&label*&id*&view&pageSize&pageToken', 'Jobs, newest first', 'jobList'],
  submitJob: ['POST /v1/jobs', 'Submit a job file', 'jobView', 'submitJobFile'],
  getJob: ['GET /v1/jobs/{jobId}', 'A job or tuning', 'jobView'],
  cancelJob: ['POST /v1/jobs/{jobId}:cancel', 'Cancel a job or tuning', 'jobView'],
  releaseVm: ['POST /v1/jobs/{jobId}:release', 'End the time of a VM that is kept', 'jobView'],
  openShell: ['POST /v1/jobs/{jobId}:openShell', 'Name the VM for a shell', 'shellTarget', 'shellRequest'],
  getHistory: ['GET /v1/jobs/{jobId}/history', 'The events that changed it, oldest first', 'jobHistory'],
  getDefinition: ['GET /v1/jobs/{jobId}/definition', 'What it runs, and how to repeat it', 'jobDefinition'],
  readLogs: ['GET /v1/jobs/{jobId}/logs?cursor&replica&pageSize', 'Lines of its log', 'logPage'],
  listTrials: ['GET /v1/jobs/{jobId}/trials?pageSize&pageToken', 'The trials of a tuning', 'trialPage'],
  getTrial: ['GET /v1/jobs/{jobId}/trials/{trialId}', 'A trial with its measurements', 'trialDetail'],
  listFiles: ['GET /v1/jobs/{jobId}/files?prefix&pageSize&pageToken', 'A folder of the job directory', 'jobFiles'],
  downloadFile: ['GET /v1/jobs/{jobId}/files/content?name!', 'A file, also in ranges', 'bytes'],
  listSeries: ['GET /v1/jobs/{jobId}/metrics', 'The names of all series', 'seriesIndex'],
  readPoints: ['GET /v1/jobs/{jobId}/metrics/points?name*!&kind&replica&from&to&pointsMax', 'Points', 'seriesPage'],
  readSparklines: ['GET /v1/metrics/sparklines?series*!', 'The course of a metric of several jobs', 'sparklines'],
  getRunning: ['GET /v1/running', 'What runs now, and its price', 'runningSummary'],
  listChanges: ['GET /v1/changes?since&job', 'What changed since the answer with this marker', 'changes'],
  uploadPart: ['PUT /v1/uploads/{uploadId}/parts/{part}', 'Store a part of a package', 'uploadedPart', 'bytes'],
  validateUpload: ['POST /v1/uploads/{uploadId}:validate', 'Findings and price', 'submissionVerdict', 'validateUpload'],
  startUpload: ['POST /v1/uploads/{uploadId}:start', 'Start the job of a package', 'jobView', 'startUpload'],
  listNotifications: ['GET /v1/notifications', 'The channels, and what was not delivered', 'notificationList'],
  testChannels: ['POST /v1/notifications:test?channel', 'Send tests to channels', 'notificationTests'],
  getNotification: ['GET /v1/notifications/{id}', 'What came of a notification', 'notificationRecord'],
  getDocument: ['GET /v1/openapi.json', 'This document', 'document'],
};

/** Returns the OpenAPI document of the API, whose components are the schemas that its clients parse answers with. */
export function describeApi() {
  const paths: Record<string, Record<string, object>> = {};
  for (const [operationId, [route, summary, answer, request]] of Object.entries(OPERATIONS)) {
    const [, method = '', path = '', query = ''] = /^(\w+) ([^?]+)\??(.*)$/.exec(route) ?? [];
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => parameter(name, 'path'));
    const inQuery = [...query.matchAll(/[^&]+/g)].map(([name]) => parameter(name, 'query'));
    const described = {
      ...{ operationId, summary, parameters: [...inPath, ...inQuery] },
      ...(request && { requestBody: { required: true, ...contentOf(request) } }),
      responses: {
        200: { description: summary, ...contentOf(answer) },
        default: { description: 'What is wrong, and what to do', ...contentOf('error') },
      },
    };
    paths[path] = { ...paths[path], [method.toLowerCase()]: described };
  }
  const schemas = { ...componentsOf(answers, 'output'), ...componentsOf(requests, 'input') };
  const identityToken = { type: 'http', scheme: 'bearer', description: 'On Google Cloud; the API is its audience' };
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
  const schema = name.includes('*') ? { type: 'array', items: { type: 'string' } } : { type: 'string' };
  return { name: name.replace(/\W+/, ''), in: place, required: place === 'path' || name.endsWith('!'), schema };
}

function contentOf(body: Body) {
  const schema = body === 'document' ? { type: 'object' } : { $ref: refTo(body) };
  return { content: body === 'bytes' ? { 'application/octet-stream': {} } : { 'application/json': { schema } } };
}

function refTo(name: string): string {
  return `#/components/schemas/${name}`;
}

/** The schemas of a module, of which one may contain others. A later version may add fields to them. */
function componentsOf(module: Readonly<Record<string, unknown>>, io: 'input' | 'output'): Record<string, object> {
  const registry = z.registry<{ readonly id: string }>();
  for (const [key, schema] of Object.entries(module)) {
    if (schema instanceof z.ZodObject) {
      registry.add(schema, { id: key.replace(/Schema$/, '') });
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
