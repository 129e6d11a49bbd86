import type { FileHandle } from "node:fs/promises"
import { basename, dirname } from "node:path"
import { z } from "zod"
import type { ResolvedPath } from "../../workspace/workspace.ts"
import { filePath } from "../input-names.ts"
import { outputBytesMax, outputLinesMax } from "../output.ts"
import type { Tool, ToolContext, ToolResult } from "../tool.ts"
import { readWants, resolveAgain, wantsOfPath } from "./file-wants.ts"
import { type LinePage, readPage } from "./line-page.ts"
import { looksLikeText, mediaType } from "./media-type.ts"
import { nearNames } from "./near-names.ts"
import { type OpenedFile, openFile, stateOf } from "./open-file.ts"
import { shownName } from "./shown-name.ts"

const attachmentBytesMax = 10 * 1024 * 1024
/** Leaves room for the notice about the page, so that the run does not cut the output. */
const pageLinesMax = outputLinesMax - 2
const pageBytesMax = outputBytesMax - 1024
const headBytes = 8 * 1024
const chunkBytes = 256 * 1024

const ReadInput = z.object({
  filePath: filePath.describe(
    "The file: relative to the session's directory, or absolute. `blob:<hash>` for the stored output of another tool.",
  ),
  offset: z.number().int().min(1).optional().describe("The first line to show, counted from 1."),
  limit: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe("How many lines to show; about 2,000 if absent, which is the most."),
})
type ReadInput = z.infer<typeof ReadInput>

export const readTool: Tool<ReadInput> = {
  name: "read",
  description: [
    "Shows a file. Each line of a text comes as `00042| the line`: the number, a bar, a space, then the line as it is in",
    "the file. Leave number, bar and space out when you quote a line for the edit tool. Lines over 2,000 characters are",
    "cut. Long files come in pages: go on with `offset`. PNG, JPEG, GIF and WebP images and PDF files are shown as they",
    "are. Directories are shown by the list tool.",
  ].join(" "),
  input: ReadInput,
  replay: "safe",
  writes: false,

  async wants(input, context) {
    if (blobOf(input.filePath) !== undefined) return []
    return wantsOfPath(input.filePath, { input, context, wants: readWants })
  },

  async execute(input, context) {
    const hash = blobOf(input.filePath)
    if (hash !== undefined) return readBlob(hash, { input, context })
    const location = await resolveAgain(input.filePath, { input, context, wants: readWants })
    const opened = await openFile(location)
    if (opened === undefined) throw new Error(await missing(location, context))
    await using _ = opened.handle
    const result = await readOpened(opened, { location, input, context })
    context.reads.note(location.path, stateOf(opened.stats))
    return result
  },
}

async function readOpened(
  opened: OpenedFile,
  { location, input, context }: { location: ResolvedPath; input: ReadInput; context: ToolContext },
): Promise<ToolResult> {
  const head = await readHead(opened.handle)
  const type = mediaType(head)
  if (type !== undefined) return readMedia(opened, { location, type })
  if (!looksLikeText(head)) {
    throw new Error(
      `${shownName(location.name)} is a binary file, which cannot be shown. Use a command to look at it if needed.`,
    )
  }
  const page = await readPage(chunksOf(opened.handle, context.signal), pageOptions(input))
  return pageResult(page, { name: shownName(location.name), path: location.path, input })
}

/** The hash of a stored output; undefined for the path of a file. */
function blobOf(path: string): string | undefined {
  if (!path.startsWith("blob:")) return undefined
  const hash = path.slice("blob:".length)
  if (!/^[0-9a-f]{64}$/.test(hash)) {
    throw new Error("After `blob:` give the 64 hex digits from the notice about the cut output.")
  }
  return hash
}

async function readBlob(
  hash: string,
  { input, context }: { input: ReadInput; context: ToolContext },
): Promise<ToolResult> {
  let bytes: Uint8Array
  try {
    bytes = await context.blobs.get(hash)
  } catch (error) {
    throw new Error(`There is no stored output blob:${hash}. Run the tool again if you need its output.`, {
      cause: error,
    })
  }
  const name = `blob:${hash}`
  if (!looksLikeText(bytes.subarray(0, headBytes)))
    throw new Error(`${name} is not a text and cannot be shown.`)
  return pageResult(await readPage([bytes], pageOptions(input)), { name, path: name, input })
}

function pageOptions({ offset = 1, limit = pageLinesMax }: ReadInput) {
  return { offset, limit: Math.min(limit, pageLinesMax), bytesMax: pageBytesMax }
}

function pageResult(page: LinePage, file: { name: string; path: string; input: ReadInput }): ToolResult {
  const from = file.input.offset ?? 1
  const to = from + page.lines.length - 1
  if (page.lines.length === 0 && from > 1) {
    throw new Error(
      `${file.name} has ${page.total} lines, so there is none from line ${from} on. Give a smaller offset.`,
    )
  }
  const total = page.complete ? `${page.total}` : `more than ${page.total}`
  const notice =
    page.total === 0
      ? "(The file is empty.)"
      : page.complete && to === page.total
        ? `(End of the file: ${total} ${page.total === 1 ? "line" : "lines"}.)`
        : `(Lines ${from} to ${to} of ${total}. Go on with offset ${to + 1}.)`
  return {
    title: file.name,
    output: [...page.lines, notice].join("\n"),
    metadata: {
      filepath: file.path,
      from,
      to,
      lines: page.total,
      truncated: !page.complete || to < page.total,
    },
  }
}

async function readMedia(
  { handle, stats }: OpenedFile,
  { location, type }: { location: ResolvedPath; type: string },
): Promise<ToolResult> {
  if (stats.size > attachmentBytesMax) {
    throw new Error(
      `${shownName(location.name)} (${type}) has ${stats.size} bytes; at most ${attachmentBytesMax} can be shown.`,
    )
  }
  const bytes = Buffer.alloc(stats.size)
  const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0)
  const url = `data:${type};base64,${bytes.toString("base64", 0, bytesRead)}`
  return {
    title: shownName(location.name),
    output: `${shownName(location.name)} is shown as an attachment (${type}, ${bytesRead} bytes).`,
    metadata: { filepath: location.path, mime: type, bytes: bytesRead },
    attachments: [{ type: "file", mime: type, filename: basename(location.path), url }],
  }
}

async function readHead(handle: FileHandle): Promise<Uint8Array> {
  const head = Buffer.alloc(headBytes)
  const { bytesRead } = await handle.read(head, 0, headBytes, 0)
  return head.subarray(0, bytesRead)
}

/** Yields the same buffer each time. A consumer must copy the bytes that it keeps. */
async function* chunksOf(handle: FileHandle, signal: AbortSignal): AsyncIterable<Uint8Array> {
  const buffer = Buffer.allocUnsafe(chunkBytes)
  for (let position = 0; ; ) {
    signal.throwIfAborted()
    const { bytesRead } = await handle.read(buffer, 0, chunkBytes, position)
    if (bytesRead === 0) return
    position += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

async function missing(location: ResolvedPath, context: ToolContext): Promise<string> {
  const near = await nearNames(dirname(location.path), basename(location.path))
  const resolved = await Promise.all(
    near.map((name) => context.workspace.resolve(`${dirname(location.path)}/${name}`)),
  )
  const names = resolved
    // The target of a symlink that leads out of the workspace is not revealed.
    .filter((one) => !one.forbidden && (location.external || !one.external))
    .filter((one) => context.decide({ permission: "read", patterns: [one.name] }) === "allow")
    .map((one) => shownName(one.name))
  const hint = names.length > 0 ? `Did you mean ${names.join(" or ")}?` : "Use glob or list to find the file."
  return `There is no file ${shownName(location.name)}. ${hint}`
}
