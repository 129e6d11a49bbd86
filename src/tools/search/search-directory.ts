import type { ResolvedPath } from "../../workspace/workspace.ts"
import { readWant, resolveAgain, searchWants, wantsOfPath } from "../file/file-wants.ts"
import { statOf } from "../file/open-file.ts"
import { shownName } from "../file/shown-name.ts"
import type { ToolContext, Wanted, WantsContext } from "../tool.ts"

interface SearchInput {
  path?: string | undefined
}

/** The permission requests of a search: to read the file that it names, or to search a directory. */
export function wantsOfSearch(input: SearchInput, context: WantsContext): Promise<Wanted[]> {
  return wantsOfPath(input.path ?? ".", { input, context, wants: wantsAt })
}

/** The file or directory to search, after permission. */
export async function searchedPath(
  input: SearchInput,
  context: ToolContext,
): Promise<{ location: ResolvedPath; kind: "file" | "directory" }> {
  const location = await resolveAgain(input.path ?? ".", { input, context, wants: wantsAt })
  const found = await statOf(location.path)
  if (found === undefined)
    throw new Error(`There is no directory ${shownName(location.name)}. Use list to see what there is.`)
  if (found.isDirectory()) return { location, kind: "directory" }
  if (found.isFile()) {
    if (location.external) await context.ask(readWant(location))
    return { location, kind: "file" }
  }
  throw new Error(
    `${shownName(location.name)} is neither a directory nor a regular file, so it is not searched.`,
  )
}

/** The directory to search; throws for a file. */
export async function searchedDirectory(input: SearchInput, context: ToolContext): Promise<ResolvedPath> {
  const { location, kind } = await searchedPath(input, context)
  if (kind === "file")
    throw new Error(`${shownName(location.name)} is a file, not a directory. Use the read tool to see it.`)
  return location
}

/** Whether an external path is a file is checked only after access to its directory is permitted. */
async function wantsAt(location: ResolvedPath): Promise<Wanted[]> {
  if (location.external) return searchWants(location)
  const found = await statOf(location.path)
  return found?.isFile() ? [readWant(location)] : []
}
