import type { Reservation } from '#shared/domain/job-spec.ts';
import { type PoolDraft, RESERVATION_KEY, type ReservationDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, locationOf, type SourceLocation } from '#shared/job-file/parser/findings.ts';
import { addOnce, quote, rejectOnce } from '#shared/job-file/parser/record-findings.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

/** A short name, in the job's project and zone, or a full name; Compute Engine's full names omit the zone. */
const RESERVATION_PATTERN =
  /^(projects\/[a-z0-9.:-]{1,100}\/(zones\/[a-z0-9-]{1,63}\/)?reservations\/)?[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/;

const RESERVATION_TYPES = ['ANY_RESERVATION', 'NO_RESERVATION', 'SPECIFIC_RESERVATION'];

/** The reserved capacity that a pool may use (Vertex AI, ReservationAffinity); null if missing or invalid. */
export function checkReservation({ reservation, path }: PoolDraft, findings: Findings): Reservation | null {
  if (reservation === undefined) {
    return null;
  }
  const { type } = reservation;
  if (type?.value === 'SPECIFIC_RESERVATION') {
    return checkSpecific(reservation, locationOf(type), findings);
  }
  if (type === undefined || !RESERVATION_TYPES.includes(type.value)) {
    const missing = 'A reservation is given without its affinity type.';
    const message = type === undefined ? missing : `${quote(type.value)} is not a reservation affinity type.`;
    const remedy = `${didYouMean(type?.value ?? '', RESERVATION_TYPES)}Write ${RESERVATION_TYPES.join(', or ')}.`;
    const located = type ?? { ...(reservation.key ?? reservation.values[0] ?? { path }), value: '' };
    rejectOnce(located, { code: 'UNKNOWN_RESERVATION_TYPE', message, remedy }, findings);
    return null;
  }
  const [unused] = [reservation.key, ...reservation.values].filter((field) => field !== undefined);
  if (unused !== undefined) {
    const message = `${unused.path} has no effect without SPECIFIC_RESERVATION.`;
    const remedy = 'Remove it, or write SPECIFIC_RESERVATION.';
    addOnce(findings.warnings, { code: 'FIELD_WITHOUT_EFFECT', message, remedy, ...locationOf(unused) });
  }
  return { kind: type.value === 'ANY_RESERVATION' ? 'ANY' : 'NONE' };
}

function checkSpecific(
  { key, values }: ReservationDraft,
  location: SourceLocation,
  findings: Findings,
): Reservation | null {
  const code = 'INVALID_RESERVATION';
  const isKey = key?.value === RESERVATION_KEY;
  if (!isKey) {
    const message =
      key === undefined
        ? 'A specific reservation is requested, but the key is missing.'
        : `${quote(key.value)} is not a reservation label key.`;
    rejectOnce(
      key ?? { ...location, value: '' },
      { code, message, remedy: `Write key: ${RESERVATION_KEY}.` },
      findings,
    );
  }
  if (values.length === 0) {
    const message = 'A specific reservation is requested, but none is named.';
    const remedy = 'Name it: values: [projects/my-project/zones/us-central1-a/reservations/my-reservation].';
    addOnce(findings.problems, { code, message, remedy, ...location });
  }
  const invalid = values.filter(({ value }) => !RESERVATION_PATTERN.test(value));
  for (const name of invalid) {
    const message = `${quote(name.value)} is not a valid reservation name.`;
    const remedy = 'Write a name such as projects/my-project/zones/us-central1-a/reservations/my-reservation.';
    rejectOnce(name, { code, message, remedy }, findings);
  }
  const isValid = isKey && values.length > 0 && invalid.length === 0;
  return isValid ? { kind: 'SPECIFIC', names: values.map(({ value }) => value) } : null;
}
