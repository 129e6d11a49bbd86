import { Buffer } from "node:buffer"
import type { PartBody } from "../protocol/index.ts"
import type { Reference } from "../session/index.ts"
import { externalWants, readWant } from "../tools/file-wants.ts"
import { looksLikeText, mediaType } from "../tools/media-type.ts"
import { openFile, statOf } from "../tools/open-file.ts"
import { shownName } from "../tools/shown-name.ts"
import type { Place } from "../workspace/workspace.ts"
import type { Resolving } from "./prompt-references.ts"

const fileBytesMax = 20 * 1024 * 1024

/** The file that a reference names, as it is now; undefined if there is none, so that the reference stays text. */
export async function referencedFile(
  reference: Reference,
  resolving: Resolving,
): Promise<PartBody | undefined> {
  const { run, setup, ask } = resolving
  const place = await run.project.workspace.resolve(reference.value).catch(() => undefined)
  if (!place) return undefined
  if (place.forbidden) throw new Error("It is never shown to a model.")
  // Whether there is such a file outside is nobody's business before that is permitted.
  for (const wanted of externalWants(place)) await ask(wanted, "read")
  if (!(await statOf(place.path))?.isFile()) return undefined
  await ask(readWant(place), "read")
  const bytes = await bytesOf(place)
  if (!bytes) return undefined
  const shown = mediaType(bytes)
  if (shown === undefined && !looksLikeText(bytes.subarray(0, 8_192))) {
    throw new Error("It is neither text nor an image.")
  }
  const kept = shown === undefined ? withoutSecrets(bytes, setup.redact) : bytes
  const { text, start, end } = reference
  return {
    id: run.engine.newID("part"),
    type: "file",
    mime: shown ?? "text/plain",
    filename: place.name,
    url: `blob:${await run.engine.store.blobs.put(kept)}`,
    source: { type: "file", path: place.name, text: { value: text, start, end } },
  }
}

/** A text as the read tool would give it; the very same bytes if there is nothing to hide. */
function withoutSecrets(bytes: Uint8Array, redact: (text: string) => string): Uint8Array {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  const safe = redact(text)
  return safe === text ? bytes : Buffer.from(safe)
}

/** Undefined if it is gone meanwhile. */
async function bytesOf(place: Place): Promise<Uint8Array | undefined> {
  const opened = await openFile(place)
  if (!opened) return undefined
  try {
    if (opened.stats.size > fileBytesMax) throw new Error(`${shownName(place.name)} is larger than 20 MiB.`)
    return await opened.handle.readFile()
  } finally {
    await opened.handle.close()
  }
}
