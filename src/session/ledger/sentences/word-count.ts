/** Counts words; two Chinese characters count as one word. */
export function wordCount(text: string): number {
  return text.match(/\p{Script=Han}{1,2}|[\p{L}\p{N}][^\s\p{Script=Han}]*/gu)?.length ?? 0
}
