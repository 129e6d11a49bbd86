import { rmSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { NewFigure } from "./figure.ts"
import { onStop } from "./on-stop.ts"

/** The context of a group of figures. */
export interface Bench {
  /** Small sizes: to test the code, not to judge it. */
  quick: boolean
  add(figure: NewFigure): void
  /** Prints the progress to stderr. */
  progress(text: string): void
  /** The directory for data that takes long to make, if it shall be used again. */
  cacheDirectory?: string
}

export type Group = (bench: Bench) => Promise<void>

export interface Scratch extends AsyncDisposable {
  path(name: string): string
}

/** A directory that is removed when its scope ends, or when a signal stops the benchmark. */
export async function scratchDirectory(): Promise<Scratch> {
  const directory = await mkdtemp(join(tmpdir(), "stemma-bench-"))
  const forget = onStop(() => rmSync(directory, { recursive: true, force: true, maxRetries: 3 }))
  return {
    path: (name) => join(directory, name),
    async [Symbol.asyncDispose]() {
      await rm(directory, { recursive: true, force: true, maxRetries: 3 })
      forget()
    },
  }
}
