import { realpath } from "node:fs/promises"
import { resolve } from "node:path"
import { StemmaError } from "../../protocol/index.ts"
import { openFile } from "../../tools/file/open-file.ts"

/** The size limit of a file that a session starts with. */
const fileBytesMax = 20 * 1024 * 1024

/** The texts of the files that a session starts with. Throws for the first file that cannot be read. */
export async function readStartFiles(files: readonly string[], directory: string): Promise<string[]> {
  return Promise.all(files.map(async (file) => `File ${file}:\n${await textOf(file, directory)}`))
}

/** Only a regular file is read: a device or a pipe might have no end. */
async function textOf(name: string, directory: string): Promise<string> {
  try {
    const opened = await openFile({ path: await realpath(resolve(directory, name)), name })
    if (!opened) throw new Error("there is no such file")
    await using handle = opened.handle
    if (opened.stats.size > fileBytesMax) throw new Error("it is larger than 20 MiB")
    return await handle.readFile("utf8")
  } catch (error) {
    throw new StemmaError("not_found", `The file ${name} cannot be read: ${(error as Error).message}`, {
      cause: error,
    })
  }
}
