import { isAbsolute } from "node:path"
import { StemmaError } from "../../../protocol/index.ts"
import type { Project } from "../../../run/index.ts"
import { type Call, directoryOf, type ServerContext } from "../../http/call.ts"
import { HttpError } from "../../http/errors.ts"

/** The directory that a request names; undefined if it names none. */
export function namedDirectory(call: Call, query: { directory?: string | undefined }): string | undefined {
  const given = directoryOf(call, query)
  if (given === undefined || given === "") return undefined
  // What is set as a header by hand reaches a query encoded a second time.
  const directory = /^%2f/i.test(given) ? decoded(given) : given
  if (isAbsolute(directory)) return directory
  throw new HttpError(400, "The directory is not an absolute path. Name it from the root on.")
}

/** The project that a request is about: that of the directory it names, else the one that the server was started in. */
export async function projectOf(
  { stemma }: ServerContext,
  call: Call,
  query: { directory?: string | undefined },
): Promise<Project> {
  const directory = namedDirectory(call, query)
  try {
    return await stemma.project(directory)
  } catch (error) {
    // The path of the request is right: what it names is not.
    if (!StemmaError.is(error, "not_found") || directory === undefined) throw error
    throw new HttpError(400, error.message)
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
