import { Buffer } from "node:buffer"
import { readFile, stat } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { type PartBody, StemmaError } from "../../protocol/index.ts"
import { blobRefs } from "../../session/index.ts"
import type { Store } from "../../stores/store.ts"
import { readWant } from "../../tools/file/file-wants.ts"
import { statOf } from "../../tools/file/open-file.ts"
import { shownName } from "../../tools/file/shown-name.ts"
import { listing } from "../../tools/search/list.ts"
import type { Wanted } from "../../tools/tool.ts"
import type { ResolvedPath, Workspace } from "../../workspace/workspace.ts"

/** A file that a prompt brings along may be so big. */
const fileBytesMax = 20 * 1024 * 1024
const listingMs = 10_000

/** What decides whether a file may be shown to a model. */
export interface FileAccess {
  workspace: Workspace
  decide: (wanted: Wanted) => "allow" | "ask" | "deny"
}

/** The parts of a prompt with the bytes of their files kept. */
export function storedFiles(
  parts: readonly PartBody[],
  access: FileAccess & { store: Store },
): Promise<PartBody[]> {
  return Promise.all(parts.map((part) => storedOrInvalid(part, access)))
}

/** A url that names nothing that can be read is the caller's mistake. */
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
 * Keeps the bytes of a part's file as a blob: no row carries them, and what was sent stays what it was. Of a directory it is
 * a text that lists it.
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

/** Parts may name bytes that were sent before. If nobody has them, nobody could ever show the part. */
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

/** Undefined for a url that stays as it is. */
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

/** Undefined if it is none. Outside of the workspace nobody looks. */
async function directoryAt(url: string, { workspace }: FileAccess): Promise<ResolvedPath | undefined> {
  const location = await workspace.resolve(filePath(url))
  if (location.external || location.forbidden) return undefined
  return (await statOf(location.path))?.isDirectory() ? location : undefined
}

/** What the list tool would show without asking; files that may not be read are left out. */
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

/** A file of this machine: only what the session may read without asking, and never outside its workspace. */
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
  const found = await stat(location.path).catch(() => undefined)
  if (!found) throw new StemmaError("not_found", `There is no file ${location.name}.`)
  // A pipe would never end.
  if (!found.isFile()) throw new StemmaError("invalid", `${location.name} is no regular file. Name one.`)
  if (found.size > fileBytesMax)
    throw new StemmaError("invalid", `${location.name} is larger than 20 MiB. Send a smaller one.`)
  return readFile(location.path)
}

function filePath(url: string): string {
  try {
    return fileURLToPath(url)
  } catch {
    throw new StemmaError("invalid", `${url} names no file of this machine.`)
  }
}
