import { type FileHandle, opendir } from "node:fs/promises"
import { StemmaError } from "../../../protocol/index.ts"
import type { Project } from "../../../run/index.ts"
import { holdDirectory } from "../../../system/hold-directory.ts"
import { looksLikeText, mediaType } from "../../../tools/file/media-type.ts"
import { openFile, statOf } from "../../../tools/file/open-file.ts"
import { isShowable, mayRead, nameOf, type SearchContext } from "../../../tools/search/found-files.ts"
import type { ResolvedPath } from "../../../workspace/workspace.ts"
import type { WireFileContent, WireFileNode } from "../wire/wire-directory.ts"
import { ignoredIn } from "./ignore-rules.ts"
import { readableLocation } from "./read-rules.ts"

const fileBytesMax = 5 * 1024 * 1024
const entriesMax = 5000
const headBytes = 8 * 1024

/** The content of a whole file that an agent may read, with secrets masked. */
export async function readFileContent(project: Project, path: string): Promise<WireFileContent> {
  const location = await readableLocation(project, path)
  const { mask } = await project.setup()
  const opened = await openFile(location).catch((error: unknown) => {
    throw new StemmaError("invalid", (error as Error).message)
  })
  if (!opened) throw new StemmaError("not_found", `There is no file ${location.name}.`)
  await using handle = opened.handle
  if (opened.stats.size > fileBytesMax) {
    throw new StemmaError("invalid", `${location.name} is larger than 5 MiB, the maximum size of a file.`)
  }
  const bytes = await readUpTo(handle, opened.stats.size)
  const type = mediaType(bytes)
  if (type === undefined && looksLikeText(bytes.subarray(0, headBytes))) {
    return { type: "text", content: mask(bytes.toString()) }
  }
  return {
    type: "binary",
    content: bytes.toString("base64"),
    encoding: "base64",
    mimeType: type ?? "application/octet-stream",
  }
}

/** Reads until the buffer is full or the file ends, because one read may return less. */
async function readUpTo(handle: FileHandle, size: number): Promise<Buffer> {
  const buffer = Buffer.alloc(size)
  let length = 0
  while (length < size) {
    const { bytesRead } = await handle.read(buffer, length, size - length, length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return buffer.subarray(0, length)
}

/** The entries of a directory that a client may see; directories first. */
export async function listDirectory(
  project: Project,
  { path, context }: { path: string; context: SearchContext },
): Promise<WireFileNode[]> {
  const location = await readableLocation(project, path === "" ? "." : path)
  const found = await statOf(location.path)
  if (!found) throw new StemmaError("not_found", `There is no directory ${location.name}.`)
  if (!found.isDirectory()) throw new StemmaError("invalid", `${location.name} is not a directory.`)
  return entriesOf(location, context)
}

/** Symlinks are left out: a client asks for the target by its own path. */
async function entriesOf(location: ResolvedPath, context: SearchContext): Promise<WireFileNode[]> {
  const entries: WireFileNode[] = []
  const { environment, workspace } = context
  const isIgnored = await ignoredIn(location.path, { root: workspace.root, environment })
  const notOpened = (error: unknown) => {
    const { code } = error as NodeJS.ErrnoException
    throw new StemmaError(
      "denied",
      `${location.name} cannot be opened: ${code ?? "it was replaced meanwhile"}.`,
    )
  }
  await using held = await holdDirectory(location.path).catch(notOpened)
  const directory = await opendir(held.self).catch(notOpened)
  for await (const found of directory) {
    if (entries.length === entriesMax) break
    if (found.name === ".git" || !(found.isDirectory() || found.isFile())) continue
    const absolute = `${location.path === "/" ? "" : location.path}/${found.name}`
    const type = found.isDirectory() ? "directory" : "file"
    const path = nameOf(absolute, context)
    if (type === "file" && !mayRead(path, context)) continue
    if (!(await isShowable(absolute, context))) continue
    const ignored = isIgnored({ name: found.name, isDirectory: type === "directory" })
    entries.push({ name: found.name, path, absolute, type, ignored })
  }
  return entries.sort((a, b) =>
    a.type === b.type ? (a.name < b.name ? -1 : 1) : a.type === "directory" ? -1 : 1,
  )
}
