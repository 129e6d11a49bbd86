import type { PermissionReply } from "../../../protocol/index.ts"
import type { ServerContext } from "../../http/call.ts"
import type { Handlers } from "../../http/mount.ts"
import type { permissionRoutes } from "../routes/directory-routes.ts"
import { namedDirectory, projectOf } from "../routes/request-project.ts"
import { withWireName } from "../wire/errors.ts"
import { toWirePermission } from "../wire/to-wire-session.ts"

export function permissionHandlers(server: ServerContext): Handlers<typeof permissionRoutes> {
  const { permissions, reader } = server.stemma
  const answer = async (
    { sessionID, requestID }: { sessionID?: string; requestID: string },
    given: { reply: PermissionReply; feedback?: string },
  ) => {
    try {
      const asker = sessionID ?? (await permissions.find(requestID)).sessionID
      await permissions.reply(asker, requestID, given)
      return true
    } catch (error) {
      throw withWireName(error, { code: "not_found", name: "PermissionNotFoundError", fields: { requestID } })
    }
  }
  return {
    async list({ query }, call) {
      server.presence.touch()
      const named = namedDirectory(call, query)
      const directory = named === undefined ? undefined : (await projectOf(server, call, query)).directory
      const open = await permissions.open(undefined, directory === undefined ? {} : { directory })
      return open.map(toWirePermission)
    },
    reply: ({ params, body: { reply, message } }) =>
      answer(params, { reply, ...(message !== undefined && message !== "" && { feedback: message }) }),
    async respond({ params: { sessionID, permissionID }, body }) {
      await reader.session(sessionID)
      return answer({ sessionID, requestID: permissionID }, { reply: body.response })
    },
  }
}
