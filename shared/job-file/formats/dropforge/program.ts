import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Kind, SCALAR_LIST_SCHEMA, SCALAR_SCHEMA } from '#shared/job-file/fields/kind.ts';
import { type Findings, type Located, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import {
  type FoundNode,
  locationOfNode,
  readBoolean,
  readText,
  readTextList,
} from '#shared/job-file/parser/read-values.ts';

const WORDS_SHOWN_MAX = 4;

type TextList = readonly Located<string>[] | undefined;

/** A command: a list of words. */
export const COMMAND: Kind<TextList> = {
  type: 'list of texts',
  schema: SCALAR_LIST_SCHEMA,
  read: readWords,
};

/** Arguments: a list of words, or a mapping of flags to values. */
export const ARGUMENTS: Kind<TextList> = {
  type: 'list of texts, or mapping',
  schema: { anyOf: [SCALAR_LIST_SCHEMA, { type: 'object', additionalProperties: SCALAR_SCHEMA }] },
  read: readArguments,
};

/** A list as written. In a mapping, `epochs: 10` becomes `--epochs=10`; `true` sets a flag, `false` omits it. */
function readArguments(found: FoundNode | undefined, findings: Findings): TextList {
  if (found?.node.kind !== 'MAPPING') {
    return readWords(found, findings);
  }
  return found.node.entries.flatMap(({ key, value: node }) => {
    const path = `${found.path}.${key}`;
    const text = readText({ path, node }, findings);
    if (text === undefined || (node.kind === 'SCALAR' && node.value === false)) {
      return [];
    }
    const flag = key.startsWith('-') ? key : `--${key}`;
    const hasNoValue = node.kind === 'SCALAR' && node.value === true;
    return [{ ...text, value: hasNoValue ? flag : `${flag}=${text.value}` }];
  });
}

/** A list of words. A shell command line is rejected, because it would become a single word. */
function readWords(found: FoundNode | undefined, findings: Findings): TextList {
  const words = found?.node.kind === 'SCALAR' ? found.node.text.trim().split(/\s+/) : [];
  if (found === undefined || words.length < 2) {
    return readTextList(found, findings);
  }
  const shown = words.slice(0, WORDS_SHOWN_MAX).join(', ') + (words.length > WORDS_SHOWN_MAX ? ', …' : '');
  const text = { ...locationOfNode(found), value: found.node.kind === 'SCALAR' ? found.node.text : '' };
  const message = `${found.path} is one text of ${words.length} words; it is not split by a shell.`;
  reportInvalid(text, { code: 'WRONG_TYPE', message, remedy: `Write a list: [${shown}].` }, findings);
  return undefined;
}

/** `spot: true` as Vertex AI's strategy; undefined is on-demand. */
export function readSpot(draft: JobDraft, found: FoundNode | undefined, findings: Findings): JobDraft {
  const spot = readBoolean(found, findings);
  return { ...draft, strategy: spot?.value === true ? { ...locationOf(spot), value: 'SPOT' } : undefined };
}

/** `flexStart: true` as Vertex AI's strategy, unless the draft has `spot`, which excludes it. */
export function readFlexStart(draft: JobDraft, found: FoundNode | undefined, findings: Findings): JobDraft {
  const flexStart = readBoolean(found, findings);
  if (flexStart?.value !== true) {
    return draft;
  }
  if (draft.strategy !== undefined) {
    const message = 'A job cannot use both Spot VMs and Flex-start.';
    reportInvalid(flexStart, { code: 'CONFLICTING_FIELDS', message, remedy: 'Remove spot or flexStart.' }, findings);
    return { ...draft, strategy: undefined };
  }
  return { ...draft, strategy: { ...locationOf(flexStart), value: 'FLEX_START' } };
}
