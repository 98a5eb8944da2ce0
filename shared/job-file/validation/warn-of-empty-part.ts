import { hasEmptyPart, type StorageUri } from '#shared/job-file/draft/storage-uri.ts';
import { type Findings, type Place, placeOf } from '#shared/job-file/parser/findings.ts';

/** Warns of an address with two slashes in a row, which is legal and seldom meant. */
export function noteEmptyPart(place: Place, uri: StorageUri, findings: Findings): void {
  if (hasEmptyPart(uri)) {
    const message = `${place.path} has two slashes in a row, which Cloud Storage takes for another place than one slash.`;
    const remedy = 'Write one slash, unless two are meant.';
    findings.warnings.push({ code: 'EMPTY_PATH_PART', message, remedy, ...placeOf(place) });
  }
}
