import type { Place } from "../../workspace/workspace.ts"
import { placeAgain, readWant, searchWants, wantsOfPath } from "../file/file-wants.ts"
import { statOf } from "../file/open-file.ts"
import { shownName } from "../file/shown-name.ts"
import type { ToolContext, Wanted, WantsContext } from "../tool.ts"

interface SearchInput {
  path?: string | undefined
}

/** What a search wants: to read the file that it is about, or to look into a directory. */
export function wantsOfSearch(input: SearchInput, context: WantsContext): Promise<Wanted[]> {
  return wantsOfPath(input.path ?? ".", { input, context, wants: wantsAt })
}

/** Where to search, now that it is permitted. */
export async function searchPlace(
  input: SearchInput,
  context: ToolContext,
): Promise<{ location: Place; kind: "file" | "directory" }> {
  const location = await placeAgain(input.path ?? ".", { input, context, wants: wantsAt })
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

/** The directory to look into; a file is refused. */
export async function searchedDirectory(input: SearchInput, context: ToolContext): Promise<Place> {
  const { location, kind } = await searchPlace(input, context)
  if (kind === "file")
    throw new Error(`${shownName(location.name)} is a file, not a directory. Use the read tool to see it.`)
  return location
}

/** Whether it is a file outside is found out only when it is permitted to look there. */
async function wantsAt(location: Place): Promise<Wanted[]> {
  if (location.external) return searchWants(location)
  const found = await statOf(location.path)
  return found?.isFile() ? [readWant(location)] : []
}
