import { type SessionStatus, StemmaError } from "../../protocol/index.ts"
import type { StoreReader } from "../../run/index.ts"
import { type Call, type ServerContext, sinceOf } from "../http/call.ts"
import { Format, ownText } from "../streams/format.ts"

const format = new Format(ownText)

/** The event stream of one session, or of its tree. */
export async function serveSession(
  { stemma, presence, streams }: ServerContext,
  call: Call,
  query: {
    id: string
    since?: string | undefined
    tree?: boolean | undefined
    format?: "events" | "rows" | undefined
  },
): Promise<Response> {
  const { id } = query
  await stemma.reader.session(id)
  const since = sinceOf(call, query)
  const subscription = stemma.subscribe({
    scope: query.tree ? { treeID: id } : { sessionID: id },
    as: query.format ?? "events",
    questions: true,
    ...(since !== undefined && { since }),
  })
  const person = presence.enter()
  return streams.serve(call, subscription, {
    format,
    async statuses() {
      const ids = query.tree ? await treeIDs(stemma.reader, id) : [id]
      return ids.map((one): [string, SessionStatus] => [one, stemma.status(one)])
    },
    onClose: () => person[Symbol.dispose](),
  })
}

/** Empty if the session was removed in the meantime. */
async function treeIDs(reader: StoreReader, rootID: string): Promise<string[]> {
  try {
    return (await reader.tree(rootID)).map(({ id }) => id)
  } catch (error) {
    if (StemmaError.is(error, "not_found")) return []
    throw error
  }
}
