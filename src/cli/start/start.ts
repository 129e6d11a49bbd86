import { homedir } from "node:os"
import { dirname, isAbsolute, join } from "node:path"
import { fileURLToPath } from "node:url"
import { cachedDataVersionTag } from "node:v8"
import { crc32 } from "node:zlib"
import type { Main } from "../program.ts"
import { HeapSettings } from "./heap-settings.ts"
import { ProgramFiles } from "./program-files.ts"

/** The commands for which compiled code is kept, each for itself: they use different parts of the program. */
const commands = ["run", "serve", "session", "trust", "untrust"]

/** Starts the built program in this directory. A checkout starts `main.ts` directly. */
export async function start(args: readonly string[]): Promise<number> {
  const directory = dirname(fileURLToPath(import.meta.url))
  const path = keptAt(args[0], directory)
  const heap = new HeapSettings()
  const files = new ProgramFiles({
    directory,
    keptAt: path,
    compile: (work) => heap.withStandardFlags(work),
  })
  const { main } = files.load("main.cjs") as { main: Main }
  process.once("exit", (code) => {
    if (code === 0) keepQuietly(files)
  })
  return main(args, {
    keepCompiledCode: () => files.keepEarly(),
    endStart: (options) => heap.endStart(options),
  })
}

function keptAt(command: string | undefined, directory: string): string | undefined {
  if (command === undefined || !commands.includes(command)) return undefined
  const { XDG_CACHE_HOME: given } = process.env
  const cache = given && isAbsolute(given) ? given : join(homedir(), ".cache")
  // HOME may be empty or relative: the current directory may belong to a stranger, and V8 runs compiled code unchecked.
  if (!isAbsolute(cache)) return undefined
  // Compiled code is of use to the same V8 with the same flags only. Two installations of Stemma keep theirs apart.
  const kind = `${process.arch}-${process.versions.v8}-${cachedDataVersionTag().toString(16)}`
  const installation = crc32(directory).toString(16)
  return join(cache, "stemma", "compiled", `${command}-${installation}-${kind}.bin`)
}

/** Compiled code is a convenience: a full or read-only disk is no reason to fail. */
function keepQuietly(files: ProgramFiles): void {
  try {
    files.keep()
  } catch {
    // The next process compiles again.
  }
}
