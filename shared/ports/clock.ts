/** Current time in milliseconds since the Unix epoch. */
export type Clock = { now(): number };
