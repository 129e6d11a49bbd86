import { createHash, randomBytes } from "node:crypto"
import { utimesSync } from "node:fs"
import { dirname } from "node:path"
import type { KnownBlob } from "../../plain/index.ts"
import { noBlob } from "../../refusals.ts"
import type { Core } from "../core.ts"
import { fileError } from "./files.ts"

const folder = "blobs"
const hashForm = /^[0-9a-f]{64}$/

function blobFile(hash: string): string {
  return `${folder}/${hash.slice(0, 2)}/${hash}`
}

/**
 * Writes bytes to a temporary file and syncs it. `publish` then moves the file to its name and must be called under the
 * lock.
 */
export async function draftBlob(core: Core, bytes: Uint8Array): Promise<{ hash: string; publish(): void }> {
  const hash = createHash("sha256").update(bytes).digest("hex")
  const file = blobFile(hash)
  const touch = () => {
    const seconds = core.clock.now() / 1000
    try {
      utimesSync(core.files.path(file), seconds, seconds)
    } catch (error) {
      throw fileError(error, core.files.path(file))
    }
  }
  if (core.files.stat(file)?.size === bytes.byteLength) return { hash, publish: touch }
  const draft = `${file}.${randomBytes(6).toString("hex")}.tmp`
  try {
    await core.files.create(draft, Buffer.from(bytes), { sync: true })
  } catch (error) {
    core.files.remove(draft)
    throw error
  }
  const publish = () => {
    core.files.rename(draft, file)
    touch()
  }
  return { hash, publish }
}

export async function syncBlob(core: Core, hash: string): Promise<void> {
  await core.files.syncDirectory(dirname(blobFile(hash)))
}

export async function readBlob(
  core: Core,
  hash: string,
  range: { start?: number; end?: number } = {},
): Promise<Uint8Array> {
  const size = blobSize(core, hash)
  // As in `slice`, negative bounds count from the end.
  const bound = (value: number) => Math.min(size, Math.max(0, value < 0 ? size + value : value))
  const bytes = await core.files.readLater(blobFile(hash), bound(range.start ?? 0), bound(range.end ?? size))
  return Uint8Array.from(bytes)
}

export function blobSize(core: Core, hash: string): number {
  const size = hashForm.test(hash) ? core.files.stat(blobFile(hash))?.size : undefined
  if (size !== undefined) return size
  throw noBlob(hash)
}

/** Returns all blobs with their modification times and sizes. */
export function listBlobs(core: Core): KnownBlob[] {
  const found: KnownBlob[] = []
  for (const { name, directory } of core.files.list(folder)) {
    if (!directory) continue
    for (const item of core.files.list(`${folder}/${name}`)) {
      const stat = hashForm.test(item.name) ? core.files.stat(blobFile(item.name)) : undefined
      if (stat) found.push({ hash: item.name, time: stat.mtimeMs, bytes: stat.size })
    }
  }
  return found
}

/** Removes temporary files that were last modified before `latestMs`: their processes died while they put a blob. */
export function removeBlobDrafts(core: Core, latestMs: number): void {
  for (const { name, directory } of core.files.list(folder)) {
    if (!directory) continue
    for (const item of core.files.list(`${folder}/${name}`)) {
      const draft = `${folder}/${name}/${item.name}`
      const stat = item.name.endsWith(".tmp") ? core.files.stat(draft) : undefined
      if (stat && stat.mtimeMs <= latestMs) core.files.remove(draft)
    }
  }
}

/** Returns the given blobs that exist and that no session refers to. */
export function unnamedBlobs(core: Core, hashes: Iterable<string>): string[] {
  const entries = [...core.tracked.values()]
  return [...new Set(hashes)].filter(
    (hash) =>
      !entries.some((tracked) => tracked.blobs.has(hash)) && core.files.stat(blobFile(hash)) !== undefined,
  )
}

export function removeBlobs(core: Core, hashes: Iterable<string>): void {
  for (const hash of hashes) core.files.remove(blobFile(hash))
}
