import { rm } from "node:fs/promises"
import { StemmaError } from "../../../protocol/index.ts"
import { collectAge } from "../../limits.ts"
import type { Collected, CollectOptions } from "../../store.ts"
import type { BlobFiles } from "../blobs.ts"
import type { WorkerClient } from "../connection/worker-client.ts"
import { checkSignal } from "./collect.ts"

interface Collecting {
  worker: WorkerClient
  files: BlobFiles
}

/** Runs `Store.collect` as a sequence of worker requests. Each request leaves the store consistent. */
export async function collectStore(
  { worker, files }: Collecting,
  options: CollectOptions & { nowMs: number },
): Promise<Collected> {
  const { nowMs, signal, dryRun } = options
  const collected: Collected = { messages: 0, sessions: 0, blobs: 0, blobBytes: 0 }
  const abandoned = await worker.ask("abandoned", { nowMs, importAgeMs: options.importAgeMs })
  for (const [done, { id, messages }] of abandoned.entries()) {
    checkSignal(signal)
    options.onProgress?.({ phase: "sessions", done, total: abandoned.length })
    collected.sessions += 1
    collected.messages += messages
    if (dryRun) continue
    try {
      // Blobs of this session are collected below, by their age, like all other blobs.
      await worker.ask("remove", { sessionID: id, nowMs, collecting: true })
    } catch (error) {
      // Another process removed the session first.
      if (!StemmaError.is(error, "not_found")) throw error
    }
  }
  checkSignal(signal)
  if (!dryRun) {
    const { messages } = await worker.ask("forget", { nowMs })
    collected.messages += messages
  }
  await collectBlobs({ worker, files }, options, collected)
  return collected
}

async function collectBlobs(
  { worker, files }: Collecting,
  options: CollectOptions & { nowMs: number },
  collected: Collected,
): Promise<void> {
  const latest = options.nowMs - (options.blobAgeMs ?? collectAge.blobMs)
  let old: { hash: string | undefined; path: string; size: number }[] = []
  const flush = async () => {
    checkSignal(options.signal)
    const hashes = old.flatMap(({ hash }) => hash ?? [])
    const free = new Set(await worker.ask("unreferenced", hashes))
    for (const { hash, path, size } of old) {
      if (hash !== undefined && !free.has(hash)) continue
      collected.blobs += 1
      collected.blobBytes += size
      if (!options.dryRun) await rm(path, { force: true })
    }
    old = []
  }
  let seen = 0
  for await (const blob of files.list()) {
    seen += 1
    if (blob.modifiedMs > latest) continue
    old.push(blob)
    if (old.length < 200) continue
    await flush()
    options.onProgress?.({ phase: "blobs", done: seen, total: seen })
  }
  if (old.length > 0) await flush()
}
