import { isAbsolute } from "node:path"
import { StemmaError } from "../../../protocol/index.ts"
import type { Project } from "../../../run/index.ts"
import { type Call, decoded, directoryOf, type ServerContext } from "../../http/call.ts"
import { HttpError } from "../../http/errors.ts"

/** The directory that a request names. Undefined if it names none. */
export function namedDirectory(call: Call, query: { directory?: string | undefined }): string | undefined {
  const given = directoryOf(call, query)
  if (given === undefined || given === "") return undefined
  // A client that sets the directory as a header by hand sends it encoded twice in a query.
  const directory = /^%2f/i.test(given) ? decoded(given) : given
  if (isAbsolute(directory)) return directory
  throw new HttpError(400, "The directory is not an absolute path. Send the path from the root.")
}

/** The project of the directory that a request names, or else of the directory that the server was started in. */
export async function projectOf(
  { stemma }: ServerContext,
  call: Call,
  query: { directory?: string | undefined },
): Promise<Project> {
  const directory = namedDirectory(call, query)
  try {
    return await stemma.project(directory)
  } catch (error) {
    // The path of the request exists, so a missing directory is a bad request and not a 404.
    if (!StemmaError.is(error, "not_found") || directory === undefined) throw error
    throw new HttpError(400, error.message)
  }
}
