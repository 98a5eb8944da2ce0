import { hasEmptyPart, type StorageUri } from '#shared/job-file/draft/storage-uri.ts';
import {
  type Findings,
  type FindingText,
  type Located,
  locationOf,
  type SourceLocation,
} from '#shared/job-file/parser/findings.ts';
import { rejectMalformed } from '#shared/job-file/parser/record-findings.ts';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';

/** Rejects a URI; capitals in its bucket name are reported as a placeholder. */
export function rejectStorageUri(uri: Located<string>, text: FindingText, findings: Findings): void {
  const bucket = parseGsUri(uri.value).bucket;
  rejectMalformed(uri, { ...text, lowercasePart: bucket }, findings);
}

/** Warns about two consecutive slashes: valid in an object name, and rarely intended. */
export function warnOfEmptyPart(location: SourceLocation, uri: StorageUri, findings: Findings): void {
  if (hasEmptyPart(uri)) {
    const message = `${location.path} has two consecutive slashes, which Cloud Storage does not treat as one.`;
    const remedy = 'Write a single slash unless you mean two.';
    findings.warnings.push({ code: 'EMPTY_PATH_PART', message, remedy, ...locationOf(location) });
  }
}
