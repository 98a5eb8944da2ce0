/** Thrown where a message is right and came too early: it is delivered again, and nobody need be alarmed. */
export class RedeliverLater extends Error {}
