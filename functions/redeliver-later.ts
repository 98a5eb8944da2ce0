/** Thrown for a valid message that arrived too early, or that its receiver cannot take now. Pub/Sub redelivers it; logged at INFO. */
export class RedeliverLater extends Error {}
