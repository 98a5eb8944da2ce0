/** GitHub's anchor of a heading: lowercase, hyphens for spaces, other punctuation dropped. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}
