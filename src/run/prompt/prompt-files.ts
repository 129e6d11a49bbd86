import { Buffer } from "node:buffer"
import { fileURLToPath } from "node:url"
import { type PartBody, StemmaError } from "../../protocol/index.ts"
import { blobRefs } from "../../session/index.ts"
import type { Store } from "../../stores/store.ts"
import { readWant } from "../../tools/file/file-wants.ts"
import { openFile, statOf } from "../../tools/file/open-file.ts"
import { shownName } from "../../tools/file/shown-name.ts"
import { listing } from "../../tools/search/list.ts"
import type { Wanted } from "../../tools/tool.ts"
import type { ResolvedPath, Workspace } from "../../workspace/workspace.ts"

/** The size limit of an attached file. */
const fileBytesMax = 20 * 1024 * 1024
const listingMs = 10_000

/** Decides whether a model may be shown a file. */
export interface FileAccess {
  workspace: Workspace
  decide: (wanted: Wanted) => "allow" | "ask" | "deny"
}

/** The parts of a prompt with the bytes of attached files stored as blobs. */
export function storedFiles(
  parts: readonly PartBody[],
  access: FileAccess & { store: Store },
): Promise<PartBody[]> {
  return Promise.all(parts.map((part) => storedOrInvalid(part, access)))
}

/** A URL that cannot be read is an error of the caller: `invalid`. */
async function storedOrInvalid(part: PartBody, access: FileAccess & { store: Store }): Promise<PartBody> {
  try {
    return await storedFile(part, access)
  } catch (error) {
    if (StemmaError.is(error) || part.type !== "file") throw error
    const name = part.filename ?? part.url.slice(0, 200)
    throw new StemmaError(
      "invalid",
      `The file ${name} of the prompt cannot be read: ${(error as Error).message}`,
    )
  }
}

/**
 * Stores the bytes of a part's file as a blob, so that rows stay small and later changes of the file have no effect. For a
 * directory, the blob is a text that lists it.
 */
async function storedFile(part: PartBody, options: FileAccess & { store: Store }): Promise<PartBody> {
  if (part.type !== "file") return part
  await checkBlobs([part], options.store)
  const directory = part.url.startsWith("file:") ? await directoryAt(part.url, options) : undefined
  if (directory) {
    const text = await listingOf(directory, options)
    const { filename = `${shownName(directory.name)}/` } = part
    const url = `blob:${await options.store.blobs.put(Buffer.from(text))}`
    return { ...part, mime: "text/plain", filename, url }
  }
  const bytes = await bytesOf(part.url, options)
  if (!bytes) return part
  if (bytes.byteLength === 0 && !part.mime.startsWith("text/")) {
    throw new StemmaError(
      "invalid",
      `${part.filename ?? "The file"} is empty. Send one with something in it.`,
    )
  }
  if (bytes.byteLength > fileBytesMax) {
    throw new StemmaError(
      "invalid",
      `${part.filename ?? "The file"} is larger than 20 MiB. Send a smaller one.`,
    )
  }
  return { ...part, url: `blob:${await options.store.blobs.put(bytes)}` }
}

/** Refuses parts that name a blob which is not in the store: such a part could never be shown. */
export async function checkBlobs(parts: readonly PartBody[], store: Store): Promise<void> {
  for (const hash of parts.flatMap((part) => blobRefs(part))) {
    const isThere = await store.blobs.size(hash).then(
      () => true,
      (error: unknown) => {
        if (StemmaError.is(error, "not_found") || StemmaError.is(error, "invalid")) return false
        throw error
      },
    )
    if (isThere) continue
    throw new StemmaError(
      "invalid",
      `There are no bytes blob:${hash.slice(0, 80)}. Send them as a data: url.`,
    )
  }
}

/** Undefined for a URL whose bytes are not stored, such as `https:`. */
async function bytesOf(url: string, access: FileAccess): Promise<Uint8Array | undefined> {
  if (url.startsWith("data:")) return dataBytes(url)
  if (url.startsWith("file:")) return readAllowed(url, access)
  return undefined
}

function dataBytes(url: string): Uint8Array {
  const comma = url.indexOf(",")
  if (comma < 0) throw new StemmaError("invalid", "A data: url has no data: write data:MIME;base64,DATA.")
  const data = url.slice(comma + 1)
  if (/;base64$/i.test(url.slice(0, comma))) return Buffer.from(data, "base64")
  try {
    return Buffer.from(decodeURIComponent(data))
  } catch {
    throw new StemmaError("invalid", "A data: url is not encoded well: write data:MIME;base64,DATA.")
  }
}

/** Undefined if the URL names no directory, or one outside of the workspace. */
async function directoryAt(url: string, { workspace }: FileAccess): Promise<ResolvedPath | undefined> {
  const location = await workspace.resolve(filePath(url))
  if (location.external || location.forbidden) return undefined
  return (await statOf(location.path))?.isDirectory() ? location : undefined
}

/** The listing that the list tool shows without a permission question. Files that may not be read are left out. */
async function listingOf(location: ResolvedPath, { workspace, decide }: FileAccess): Promise<string> {
  const mayList = decide({ permission: "list", patterns: ["*"] }) === "allow"
  if (!mayList || decide(readWant(location)) === "deny") {
    throw new StemmaError(
      "denied",
      `The directory ${location.name} may not be listed here. Name its files in the text, or change the rules.`,
    )
  }
  try {
    const signal = AbortSignal.timeout(listingMs)
    return (await listing(location, { context: { workspace, decide, signal } })).text
  } catch (error) {
    throw new StemmaError("invalid", `${location.name} cannot be listed: ${(error as Error).message}`)
  }
}

/** Reads a local file that the session may read without a question, never one outside of the workspace. */
export async function readAllowed(url: string, access: FileAccess): Promise<Uint8Array> {
  const location = await access.workspace.resolve(filePath(url))
  const isAllowed =
    !location.external &&
    !location.forbidden &&
    access.decide({ permission: "read", patterns: [location.name] }) === "allow"
  if (!isAllowed) {
    throw new StemmaError(
      "denied",
      `The file ${location.name} may not be read here. Paste its text, or change the rules.`,
    )
  }
  // A pipe or a device is refused, because reading it might never end.
  const opened = await openFile(location).catch((error: unknown) => {
    throw new StemmaError("invalid", `${(error as Error).message} Attach a regular file.`)
  })
  if (!opened) throw new StemmaError("not_found", `There is no file ${location.name}.`)
  await using handle = opened.handle
  if (opened.stats.size > fileBytesMax)
    throw new StemmaError("invalid", `${location.name} is larger than 20 MiB. Send a smaller one.`)
  return await handle.readFile()
}

function filePath(url: string): string {
  try {
    return fileURLToPath(url)
  } catch {
    throw new StemmaError("invalid", `${url} names no file of this machine.`)
  }
}
