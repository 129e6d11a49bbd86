import { createHash, randomBytes } from "node:crypto"
import { utimesSync } from "node:fs"
import { dirname } from "node:path"
import { StemmaError } from "../../../protocol/index.ts"
import type { KnownBlob } from "../../plain/index.ts"
import type { Core } from "../core.ts"
import { fileError } from "./files.ts"

const folder = "blobs"
const hashForm = /^[0-9a-f]{64}$/

function blobFile(hash: string): string {
  return `${folder}/${hash.slice(0, 2)}/${hash}`
}

/** Writes bytes beside their place, synced. `place` then puts them there, under the lock. */
export async function draftBlob(core: Core, bytes: Uint8Array): Promise<{ hash: string; place(): void }> {
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
  if (core.files.stat(file)?.size === bytes.byteLength) return { hash, place: touch }
  const draft = `${file}.${randomBytes(6).toString("hex")}.tmp`
  try {
    await core.files.create(draft, Buffer.from(bytes), { sync: true })
  } catch (error) {
    core.files.remove(draft)
    throw error
  }
  const place = () => {
    core.files.rename(draft, file)
    touch()
  }
  return { hash, place }
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
  // The same meaning as of `slice`: negative bounds count from the end.
  const bound = (value: number) => Math.min(size, Math.max(0, value < 0 ? size + value : value))
  const bytes = await core.files.readLater(blobFile(hash), bound(range.start ?? 0), bound(range.end ?? size))
  return Uint8Array.from(bytes)
}

export function blobSize(core: Core, hash: string): number {
  const size = hashForm.test(hash) ? core.files.stat(blobFile(hash))?.size : undefined
  if (size !== undefined) return size
  throw new StemmaError(
    "not_found",
    `There is no blob ${hash}. It was never put, or nothing referred to it.`,
    {
      details: { hash },
    },
  )
}

/** All blobs, and how old they are. */
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

/** Removes what a process that died while putting a blob left behind. */
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

/** Those of the blobs that no session names and that are there. */
export function unnamedBlobs(core: Core, hashes: Iterable<string>): string[] {
  const entries = [...core.entries.values()]
  return [...new Set(hashes)].filter(
    (hash) =>
      !entries.some((replicaPart) => replicaPart.blobs.has(hash)) &&
      core.files.stat(blobFile(hash)) !== undefined,
  )
}

export function removeBlobs(core: Core, hashes: Iterable<string>): void {
  for (const hash of hashes) core.files.remove(blobFile(hash))
}
