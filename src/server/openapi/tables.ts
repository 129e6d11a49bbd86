import { z } from "zod"
import { StemmaEvent } from "../../protocol/event.ts"
import { type RouteTable, routes } from "../../protocol/routes/index.ts"
import * as shared from "../../protocol/routes/share-shapes.ts"
import { RowSchema } from "../../protocol/row-schema.ts"
import { singularPath } from "../http/route-paths.ts"
import { opencodeRoutes } from "../opencode/routes/routes.ts"
import * as wireLocation from "../opencode/wire/project/wire-location.ts"
import * as wireProject from "../opencode/wire/project/wire-project.ts"
import * as wireDirectory from "../opencode/wire/wire-directory.ts"
import { WireEvent, WireGlobalEvent } from "../opencode/wire/wire-event.ts"
import * as wireMessage from "../opencode/wire/wire-message.ts"
import * as wireSession from "../opencode/wire/wire-session.ts"
import { ChatEvent } from "../panel/chat-event.ts"
import { panelRoutes } from "../panel/routes.ts"
import { SharedEvent } from "../share/feed/shared-event.ts"
import { shareRoutes } from "../share/routes.ts"
import { ErrorShape, StreamError, StreamFrame } from "./named-schemas.ts"
import { documentRoutes } from "./routes.ts"

/** A table of routes in the document. */
export interface DocumentedTable {
  /** The prefix of its operation ids. Empty for Stemma's own tables. */
  prefix: string
  routes: RouteTable
  /** A description of each group. */
  about: Record<string, string>
  /** The schema of its errors, and the name of that schema in the document. */
  error: { name: string; schema: z.ZodType }
  /** Its own named schemas, besides the shared ones. */
  schemas?: Record<string, z.ZodType>
  /** The schema of a frame's data, for streams whose route has none. */
  frame?: z.ZodType
  aliases?: (path: string) => readonly string[]
}

const ownError = { name: "Error", schema: ErrorShape }

const ownFrames = [StemmaEvent, RowSchema, StreamFrame] as const

/** All route tables of the server. */
export const documentedTables: readonly DocumentedTable[] = [
  {
    prefix: "",
    routes,
    about: {
      sessions: "All sessions: create, list, search",
      session: "One session",
      place: "The agents, commands and models of a directory",
      server: "The server itself",
    },
    error: ownError,
    frame: z.union(ownFrames),
    aliases: singularPath,
  },
  {
    prefix: "",
    routes: { share: shareRoutes },
    about: { share: "Shared sessions, which anyone with the link can read" },
    error: ownError,
    schemas: { ...schemasOf(shared), SharedEvent },
    frame: z.union([SharedEvent, StreamError]),
  },
  {
    prefix: "",
    routes: { panel: panelRoutes },
    about: {
      panel: "A small API for panels and chat channels, which send a message and the id of a session",
    },
    error: ownError,
    schemas: { ChatEvent },
    frame: ChatEvent,
  },
  {
    prefix: "",
    routes: { document: documentRoutes },
    about: { document: "The description of this API" },
    error: ownError,
  },
  {
    prefix: "opencode",
    routes: opencodeRoutes,
    about: {
      session: "Sessions in the format of the OpenCode client",
      message: "Messages and parts that the OpenCode client changes or deletes",
      permission: "Permission questions, for the OpenCode client",
      event: "Events, for the OpenCode client",
      global: "The server, for the OpenCode client",
      place: "Agents, config and models, for the OpenCode client",
      project: "Projects, providers, commands, skills and git state, for the OpenCode client",
      location: "A directory with its agents, models and files, for OpenCode's terminal",
      absent: "Features of the OpenCode server that Stemma does not have",
      file: "Files of a project, for the OpenCode client",
    },
    error: { name: "WireError", schema: wireSession.WireError },
    schemas: {
      ...schemasOf({ ...wireMessage, ...wireDirectory, ...wireSession, ...wireLocation, ...wireProject }),
      WireEvent,
      WireGlobalEvent,
    },
    frame: z.union([WireEvent, WireGlobalEvent, ...ownFrames]),
  },
]

function schemasOf(module: Record<string, unknown>): Record<string, z.ZodType> {
  const schemas = Object.entries(module).filter(
    (entry): entry is [string, z.ZodType] => entry[1] instanceof z.ZodType,
  )
  return Object.fromEntries(schemas)
}
