import { Buffer } from "node:buffer"
import type { Stats } from "node:fs"
import { homedir } from "node:os"
import { resolve } from "node:path"
import type { PartBody } from "../../protocol/index.ts"
import type { Reference } from "../../session/index.ts"
import { externalWants, readWant } from "../../tools/file/file-wants.ts"
import { looksLikeText, mediaType } from "../../tools/file/media-type.ts"
import { openFile, stateOf, statOf } from "../../tools/file/open-file.ts"
import { shownName } from "../../tools/file/shown-name.ts"
import type { ResolvedPath } from "../../workspace/workspace.ts"
import type { Resolving } from "./prompt-references.ts"

const fileBytesMax = 20 * 1024 * 1024

/** The file that a reference names, with its present content; undefined if there is no such file. */
export async function referencedFile(
  reference: Reference,
  resolving: Resolving,
): Promise<PartBody | undefined> {
  const { run, setup, ask } = resolving
  const location = await run.project.workspace.resolve(reference.value).catch(() => undefined)
  if (!location) return undefined
  if (location.forbidden) throw new Error("It is never shown to a model.")
  // Permission comes first: whether a file outside of the workspace exists must not be revealed without it.
  const isElsewhere = location.path !== spelledPath(reference.value, run.project.workspace.directory)
  for (const wanted of externalWants(location)) await ask({ wanted, tool: "read", isElsewhere })
  if (!(await statOf(location.path))?.isFile()) return undefined
  await ask({ wanted: readWant(location), tool: "read", isElsewhere })
  const found = await readWhole(location)
  if (!found) return undefined
  const { bytes, stats } = found
  const shown = mediaType(bytes)
  if (shown === undefined && !looksLikeText(bytes.subarray(0, 8_192))) {
    throw new Error("It is neither text nor an image.")
  }
  const kept = shown === undefined ? withoutSecrets(bytes, setup.mask) : bytes
  run.reads.note(location.path, stateOf(stats))
  const { text, start, end } = reference
  return {
    id: run.newID("part"),
    type: "file",
    mime: shown ?? "text/plain",
    filename: location.name,
    url: `blob:${await run.engine.store.blobs.put(kept)}`,
    source: { type: "file", path: location.name, text: { value: text, start, end } },
  }
}

/** The path that a name spells, without following symlinks. */
function spelledPath(name: string, directory: string): string {
  return name.startsWith("~/") ? resolve(homedir(), name.slice(2)) : resolve(directory, name)
}

/** Masks secrets in a text file as the read tool does; returns the same bytes if there is nothing to mask. */
function withoutSecrets(bytes: Uint8Array, mask: (text: string) => string): Uint8Array {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  const safe = mask(text)
  return safe === text ? bytes : Buffer.from(safe)
}

/** Undefined if the file was removed in the meantime. */
async function readWhole(location: ResolvedPath): Promise<{ bytes: Uint8Array; stats: Stats } | undefined> {
  const opened = await openFile(location)
  if (!opened) return undefined
  try {
    if (opened.stats.size > fileBytesMax)
      throw new Error(`${shownName(location.name)} is larger than 20 MiB.`)
    return { bytes: await opened.handle.readFile(), stats: opened.stats }
  } finally {
    await opened.handle.close()
  }
}
