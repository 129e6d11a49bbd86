/**
 * The media type of a file that a model can be shown directly, recognised by the first bytes; undefined for all others.
 */
export function mediaType(head: Uint8Array): string | undefined {
  return signatures.find(({ parts }) =>
    parts.every(({ at, bytes }) => Buffer.from(head.subarray(at, at + bytes.length)).equals(bytes)),
  )?.type
}

const signatures = [
  { type: "image/png", parts: [{ at: 0, bytes: Buffer.from("\x89PNG\r\n\x1a\n", "latin1") }] },
  { type: "image/jpeg", parts: [{ at: 0, bytes: Buffer.from("\xff\xd8\xff", "latin1") }] },
  { type: "image/gif", parts: [{ at: 0, bytes: Buffer.from("GIF87a") }] },
  { type: "image/gif", parts: [{ at: 0, bytes: Buffer.from("GIF89a") }] },
  {
    type: "image/webp",
    parts: [
      { at: 0, bytes: Buffer.from("RIFF") },
      { at: 8, bytes: Buffer.from("WEBP") },
    ],
  },
  { type: "application/pdf", parts: [{ at: 0, bytes: Buffer.from("%PDF-") }] },
]

/** False if the beginning of a file contains a NUL, or too many bytes that are not UTF-8 for a text. */
export function looksLikeText(head: Uint8Array): boolean {
  if (head.includes(0)) return false
  // With `stream`, a character that the end of `head` cuts is held back.
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(head, { stream: true })
  const broken = text.split("\ufffd").length - 1
  return broken * 10 <= text.length
}
