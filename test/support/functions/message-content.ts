import { EVENT_FUNCTION_NAMES, type EventFunctionName } from '#functions/functions.ts';

/** Functions that handle any content: a job file, whose problems are reported to its author, or a dead letter. */
export const ANY_CONTENT_FUNCTIONS = ['on-submit', 'on-dead-letter'] as const satisfies EventFunctionName[];

/** Functions that do not read the message. */
const NO_CONTENT_FUNCTIONS = ['watch'] as const satisfies EventFunctionName[];

const EXCEPTIONS: readonly EventFunctionName[] = [...ANY_CONTENT_FUNCTIONS, ...NO_CONTENT_FUNCTIONS];

/** Functions whose messages have a schema: every other one that messages trigger. */
export const SCHEMA_FUNCTIONS = EVENT_FUNCTION_NAMES.filter((name) => !EXCEPTIONS.includes(name));
