/** Limits of a tool's output that the model sees at once. The model pages through the rest. */
export const outputLinesMax = 2_000
export const outputBytesMax = 50 * 1024

export interface LimitedOutput {
  /** The beginning of the text, up to the limits. */
  output: string
  cut: boolean
  /** Lines of the whole text. */
  lines: number
  /** Bytes of the whole text as UTF-8. */
  bytes: number
}

/** Cuts a text at whole lines where possible, else inside a line, but never inside a character. */
export function limitOutput(text: string): LimitedOutput {
  const bytes = Buffer.byteLength(text)
  const lines = countTextLines(text)
  if (lines <= outputLinesMax && bytes <= outputBytesMax) return { output: text, cut: false, lines, bytes }
  return { output: firstBytes(firstLines(text)), cut: true, lines, bytes }
}

/** Appended to an output that was cut, so that the model can read on. */
export function pointerNotice({
  hash,
  lines,
  bytes,
}: {
  hash: string
  lines: number
  bytes: number
}): string {
  return (
    `\n\n(The output was cut here. It has ${lines} lines and ${bytes} bytes. ` +
    `To page through the whole of it, call the read tool with filePath "blob:${hash}", an offset and a limit.)`
  )
}

/** The beginning of a text: at most `max` UTF-16 units, and never half a surrogate pair. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text
  const last = text.charCodeAt(max - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max)
}

function countTextLines(text: string): number {
  if (text === "") return 0
  let lines = text.endsWith("\n") ? 0 : 1
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines++
  return lines
}

function firstLines(text: string): string {
  let end = -1
  for (let line = 0; line < outputLinesMax; line++) {
    end = text.indexOf("\n", end + 1)
    if (end < 0) return text
  }
  return text.slice(0, end)
}

function firstBytes(text: string): string {
  // A UTF-16 unit has at least one byte, so at most as many units as bytes can fit.
  const head = Buffer.from(cutText(text, outputBytesMax + 1))
  if (head.length <= outputBytesMax) return text
  let end = outputBytesMax
  while (end > 0 && (head[end]! & 0xc0) === 0x80) end--
  const newline = head.lastIndexOf(0x0a, end)
  return head.toString("utf8", 0, newline > end / 2 ? newline : end)
}
