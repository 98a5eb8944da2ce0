/** Thrown for a valid message that arrived too early. Pub/Sub redelivers it; logged at INFO. */
export class RedeliverLater extends Error {}
