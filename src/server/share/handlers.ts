import { StemmaError } from "../../protocol/index.ts"
import type { SharedDocument } from "../../protocol/routes/share-shapes.ts"
import type { Call, ServerContext } from "../http/call.ts"
import { errorAnswer } from "../http/errors.ts"
import type { Handlers } from "../http/mount.ts"
import { Format } from "../streams/format.ts"
import type { SharedRange } from "./feed/read-shared.ts"
import { cursorOf, type SharedFrame } from "./feed/shared-feed.ts"
import { assets } from "./page/assets.ts"
import { errorPage, sharedPage } from "./page/page.ts"
import type { shareRoutes } from "./routes.ts"
import type { Shares } from "./shares.ts"

const format = new Format<SharedFrame>(({ body }) => body)
/** How long a reader may take to receive the last bytes after the share ended. */
const lastBytesMs = 1000

export function shareHandlers(context: ServerContext, shares: Shares): Handlers<typeof shareRoutes> {
  return {
    async page({ params, query }, call) {
      const options = query.before === undefined ? {} : { before: query.before }
      if (!wantsPage(call)) return json(call, documentOf(await shares.read(params.secret, options)))
      try {
        const document = documentOf(await shares.read(params.secret, options))
        return html(call, sharedPage(document, { isNewest: query.before === undefined }))
      } catch (error) {
        const { status, body } = errorAnswer(error)
        if (status === 500) throw error
        return html(call, errorPage(body.message), status)
      }
    },
    async data({ params, query }, call) {
      call.headers = publicHeaders(call)
      return documentOf(
        await shares.read(params.secret, query.before === undefined ? {} : { before: query.before }),
      )
    },
    event: ({ params, query }, call) => follow(context, call, { ...query, shares, secret: params.secret }),
    asset({ params }, call) {
      const asset = assets.get(params.file)
      if (!asset) throw new StemmaError("not_found", `There is no file ${params.file}.`)
      return new Response(asset.text, {
        headers: { ...call.headers, "content-type": asset.type, "cache-control": "no-cache" },
      })
    },
  }
}

async function follow(
  context: ServerContext,
  call: Call,
  { shares, secret, since }: { shares: Shares; secret: string; since?: string | undefined },
): Promise<Response> {
  // A browser reconnects with the same URL, and sends its newest cursor in this header.
  const cursor = call.request.headers.get("last-event-id") ?? since
  const { source, leave } = await shares.follow(secret, cursor)
  source.onEnd = () => closeSoon(call)
  return context.streams.serve({ ...call, headers: publicHeaders(call) }, source, {
    format,
    isLast: ({ isLast }) => isLast === true,
    onClose: leave,
  })
}

/** Closes the connection of a reader that does not take the last bytes. */
function closeSoon({ outgoing }: Call): void {
  if (!outgoing || outgoing.destroyed) return
  const timer = setTimeout(() => outgoing.destroy(), lastBytesMs).unref()
  outgoing.once("close", () => clearTimeout(timer))
}

function documentOf({ header, messages, from, key, next }: SharedRange): SharedDocument {
  return {
    session: header,
    messages,
    ...(from > 0 && { earlier: from }),
    cursor: cursorOf({ key, next }),
  }
}

/** HTML is the default. JSON only if the client asks for it and not for HTML. */
function wantsPage({ request }: Call): boolean {
  const accept = request.headers.get("accept") ?? ""
  return accept.includes("text/html") || !/\bjson\b/i.test(accept)
}

const contentSecurity = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ")

function publicHeaders(call: Call): Record<string, string> {
  return {
    ...call.headers,
    "content-security-policy": contentSecurity,
    "cache-control": "no-store",
    "x-robots-tag": "noindex, nofollow, noarchive",
    vary: "Accept",
  }
}

function html(call: Call, text: string, status = 200): Response {
  return new Response(text, {
    status,
    headers: { ...publicHeaders(call), "content-type": "text/html; charset=utf-8" },
  })
}

function json(call: Call, document: SharedDocument): Response {
  return Response.json(document, { headers: publicHeaders(call) })
}
