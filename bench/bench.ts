import { rmSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { NewFigure } from "./figure.ts"
import { onStop } from "./on-stop.ts"

/** What a group of figures is given. */
export interface Bench {
  /** Small sizes: to try the code, not to judge it. */
  quick: boolean
  add(figure: NewFigure): void
  /** Says on stderr what is going on. */
  progress(text: string): void
  /** Where what takes long to make is kept, if it is to be used again. */
  cacheDirectory?: string
}

export type Group = (bench: Bench) => Promise<void>

export interface Scratch extends AsyncDisposable {
  path(name: string): string
}

/** A directory that goes when its scope ends, or when the benchmark is stopped by a signal. */
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
