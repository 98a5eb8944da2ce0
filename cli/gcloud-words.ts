/** What a command line of gcloud has before the words that it shares with this one. */
const LEADING_WORDS: ReadonlySet<string> = new Set([
  'gcloud',
  'alpha',
  'beta',
  'preview',
  'ai-platform',
  'ml-engine',
  'ml',
  'ai',
]);

/** What to do about a command line that was pasted as it is for gcloud; undefined where it is none. */
export function findGcloudWords(words: readonly string[]): string | undefined {
  const first = words.findIndex((word) => !LEADING_WORDS.has(word));
  const leading = words.slice(0, first === -1 ? words.length : first);
  if (leading.length === 0) {
    return undefined;
  }
  const [group = 'jobs', ...others] = words.slice(leading.length);
  if (group === 'hp-tuning-jobs') {
    return (
      `There is no hp-tuning-jobs here. Leave out \`${[...leading, group].join(' ')}\` and write ` +
      '`dropforge jobs submit training JOB --config FILE`, with the whole tuning job in the file.'
    );
  }
  const flags = others.findIndex((word) => word.startsWith('-'));
  const command = [group, ...(flags === -1 ? others : others.slice(0, flags))].slice(0, 3).join(' ');
  return `This is a command line of gcloud. Leave out \`${leading.join(' ')}\`: \`dropforge ${command} …\`.`;
}
