import { execFile } from "node:child_process"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { Vocabulary } from "../store/vocabulary.ts"

const run = promisify(execFile)
const files = 500

/** A repository of a common size, with everything committed. */
export async function makeGitProject(directory: string): Promise<void> {
  const vocabulary = new Vocabulary(1)
  for (let index = 0; index < files; index++) {
    const folder = join(directory, "src", `part-${index % 25}`)
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, `file-${index}.ts`), `${vocabulary.code(40)}\n`)
  }
  const git = (...args: string[]) => run("git", args, { cwd: directory })
  await git("init", "--quiet")
  await git("add", ".")
  const author = ["-c", "user.name=Bench", "-c", "user.email=bench@example.com"]
  await git(...author, "commit", "--quiet", "--message", "everything")
}
