import type { SettingName } from '#functions/settings.ts';
import type { Topic } from '#shared/ports/message-bus.ts';

const STATE = ['PROJECT_ID', 'RELEASE', 'FIRESTORE_DATABASE', 'FIRESTORE_EMULATOR_HOST'] as const;
const EVENTS = [...STATE, 'PUBSUB_EMULATOR_HOST', 'PAGE_URL'] as const;
const INTAKE = [
  ...EVENTS,
  'STORAGE_EMULATOR_HOST',
  'UPLOAD_BUCKET',
  'JOBS_BUCKET',
  'REGION_DEFAULT',
  'RUNTIME_VERSION_DEFAULT',
  'RUNTIME_IMAGES',
  'ZONES',
  'NOTIFICATION_CHANNELS',
  'JOB_RIGHTS',
  'REGISTRIES',
  'CONTAINERS_AS_ROOT',
  'SECRET_MANAGER_ENDPOINT',
  'KEEP_ON_FAILURE_SECONDS_MAX',
  'KEEP_ON_FAILURE_COST_USD_MAX',
  'SHELL_ACCESS',
  'INTERNET_ACCESS',
  'DATA_BUCKETS',
  'DISK_KMS_KEY',
  'VMS_MAX',
  'USD_PER_HOUR_MAX',
] as const;

type FunctionRow = {
  /** The topic whose messages are pushed to the function, or HTTP for a function that serves requests. */
  readonly trigger: { readonly topic: Topic } | 'HTTP';
  /** The settings that the function reads, and no others (least privilege); `settings.ts` has their schemas. */
  readonly settings: readonly SettingName[];
};

/** Every function by the name under which it is deployed. */
export const FUNCTIONS = {
  'on-upload': { trigger: { topic: 'uploads' }, settings: INTAKE },
  'on-submit': { trigger: { topic: 'submit' }, settings: INTAKE },
  'on-control': { trigger: { topic: 'control' }, settings: EVENTS },
  provision: {
    trigger: { topic: 'provision' },
    settings: [
      ...EVENTS,
      'COMPUTE_ENDPOINT',
      // Passed on to the VMs that it creates; the first is read for recorded successes, too.
      'STORAGE_EMULATOR_HOST',
      'LOGGING_ENDPOINT',
      'SECRET_MANAGER_ENDPOINT',
      'SUBNETWORK',
      'VM_SERVICE_ACCOUNT',
      'HEARTBEAT_URL',
      'HEARTBEAT_AUDIENCE',
      'RUNTIME_IMAGES',
      'SECURE_BOOT',
      'AGENT_URI',
      'CACHE_BUCKET',
      'DISK_KMS_KEY',
      // The buckets in which the VMs of each account keep installed packages.
      'JOB_RIGHTS',
      'REGISTRIES',
      'SHELL_ACCESS',
      'VMS_MAX',
      'USD_PER_HOUR_MAX',
    ],
  },
  teardown: { trigger: { topic: 'teardown' }, settings: [...EVENTS, 'COMPUTE_ENDPOINT'] },
  tuning: { trigger: { topic: 'tuning' }, settings: EVENTS },
  watch: { trigger: { topic: 'tick' }, settings: EVENTS },
  'on-interruption': { trigger: { topic: 'interruptions' }, settings: EVENTS },
  report: { trigger: { topic: 'job-updates' }, settings: [...STATE, 'STORAGE_EMULATOR_HOST'] },
  notify: {
    // With a subscription for each channel of NOTIFICATION_CHANNELS; not deployed without channels.
    trigger: { topic: 'job-updates' },
    settings: [...STATE, 'PAGE_URL', 'NOTIFICATION_CHANNELS', 'SECRET_MANAGER_ENDPOINT'],
  },
  'on-dead-letter': { trigger: { topic: 'dead-letters' }, settings: INTAKE },
  heartbeat: {
    trigger: 'HTTP',
    settings: [...EVENTS, 'VM_SERVICE_ACCOUNT', 'HEARTBEAT_AUDIENCE', 'IDENTITY_CERTS_URL'],
  },
  api: {
    trigger: 'HTTP',
    settings: [...INTAKE, 'LOGGING_ENDPOINT', 'API_URL', 'IAP_AUDIENCE', 'IDENTITY_CERTS_URL'],
  },
} as const satisfies Readonly<Record<string, FunctionRow>>;

export type FunctionName = keyof typeof FUNCTIONS;
export type HttpFunctionName = {
  [Name in FunctionName]: (typeof FUNCTIONS)[Name]['trigger'] extends 'HTTP' ? Name : never;
}[FunctionName];
export type EventFunctionName = Exclude<FunctionName, HttpFunctionName>;

export const FUNCTION_NAMES = Object.keys(FUNCTIONS) as readonly FunctionName[];
export const EVENT_FUNCTION_NAMES = FUNCTION_NAMES.filter(isEventFunction);
export const HTTP_FUNCTION_NAMES = FUNCTION_NAMES.filter((name) => !isEventFunction(name));

export function isEventFunction(name: FunctionName): name is EventFunctionName {
  return FUNCTIONS[name].trigger !== 'HTTP';
}

/** The topic whose messages trigger the function. */
export function topicOf(name: EventFunctionName): Topic {
  return FUNCTIONS[name].trigger.topic;
}
