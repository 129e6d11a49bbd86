import type * as Sdk from "@opencode-ai/sdk/v2"
import { expectTypeOf, test } from "vitest"
import type { z } from "zod"
import type { PromptBody, ShellBody } from "../../src/server/opencode/handlers/prompt-bodies.ts"
import type { sessionRoutes } from "../../src/server/opencode/routes/session-routes.ts"
import type * as Located from "../../src/server/opencode/wire/project/wire-location.ts"
import type * as Project from "../../src/server/opencode/wire/project/wire-project.ts"
import type * as Place from "../../src/server/opencode/wire/wire-directory.ts"
import type { WireEvent, WireGlobalEvent } from "../../src/server/opencode/wire/wire-event.ts"
import type {
  WireItem,
  WireMessage,
  WirePart,
  WireReply,
} from "../../src/server/opencode/wire/wire-message.ts"
import type * as Wire from "../../src/server/opencode/wire/wire-session.ts"

type Given<R extends { 200: unknown }> = R[200]

test("answers have the types of the OpenCode client", () => {
  expectTypeOf<Wire.WireSession>().toExtend<Sdk.Session>()
  expectTypeOf<Wire.WireTodo>().toExtend<Sdk.Todo>()
  expectTypeOf<Wire.WireFileDiff>().toExtend<Sdk.SnapshotFileDiff>()
  expectTypeOf<Wire.WirePermission>().toExtend<Sdk.PermissionRequest>()
  expectTypeOf<z.infer<typeof Wire.WireStatuses>>().toExtend<Given<Sdk.SessionStatusResponses>>()
  expectTypeOf<WireMessage>().toExtend<Sdk.Message>()
  expectTypeOf<WirePart>().toExtend<Sdk.Part>()
  expectTypeOf<WireItem[]>().toExtend<Given<Sdk.SessionMessagesResponses>>()
  expectTypeOf<WireReply>().toExtend<Given<Sdk.SessionPromptResponses>>()
  expectTypeOf<Place.WireAgent>().toExtend<Sdk.Agent>()
  expectTypeOf<Place.WireConfig>().toExtend<Sdk.Config>()
  expectTypeOf<z.infer<typeof Place.WireProviders>>().toExtend<Given<Sdk.ConfigProvidersResponses>>()
  expectTypeOf<z.infer<typeof Place.WirePath>>().toExtend<Sdk.Path>()
  expectTypeOf<z.infer<typeof Place.WireProject>>().toExtend<Sdk.Project>()
  expectTypeOf<Project.WireCommand>().toExtend<Sdk.Command>()
  expectTypeOf<Project.WireSkill[]>().toExtend<Given<Sdk.AppSkillsResponses>>()
  expectTypeOf<z.infer<typeof Project.WireProviderList>>().toExtend<Given<Sdk.ProviderListResponses>>()
  expectTypeOf<Project.WireVcs>().toExtend<Sdk.VcsInfo>()
  expectTypeOf<Project.WireVcsDiff>().toExtend<Sdk.VcsFileDiff>()
  expectTypeOf<z.infer<typeof Project.WireProjectDirectories>>().toExtend<Sdk.ProjectDirectories>()
  expectTypeOf<z.infer<typeof Project.WireHealth>>().toExtend<Given<Sdk.GlobalHealthResponses>>()
  expectTypeOf<z.infer<typeof Project.WireCapabilities>>().toExtend<Sdk.ExperimentalCapabilities>()
  expectTypeOf<z.infer<typeof Project.WireConsole>>().toExtend<Sdk.ConsoleState>()
  expectTypeOf<Place.WireMatch[]>().toExtend<Given<Sdk.FindTextResponses>>()
  expectTypeOf<Place.WireFileNode>().toExtend<Sdk.FileNode>()
  expectTypeOf<Place.WireFileContent>().toExtend<Sdk.FileContent>()
})

test("answers of the routes below /api have the types of the OpenCode client", () => {
  expectTypeOf<Located.WireLocation>().toExtend<Sdk.LocationInfo>()
  expectTypeOf<Located.WireLocatedAgent>().toExtend<Sdk.AgentV2Info>()
  expectTypeOf<Located.WireLocatedCommand>().toExtend<Sdk.CommandV2Info>()
  expectTypeOf<Located.WireLocatedModel>().toExtend<Sdk.ModelV2Info>()
  expectTypeOf<Located.WireLocatedProvider>().toExtend<Sdk.ProviderV2Info>()
  expectTypeOf<Located.WireEntry>().toExtend<Sdk.FileSystemEntry>()
})

test("events have the types of the OpenCode client", () => {
  // The stream's own events are not part of the client's event types.
  type SessionEvent = Exclude<WireEvent, { type: "synced" | "lagged" }>
  expectTypeOf<SessionEvent>().toExtend<Sdk.Event>()
  type Global = Omit<z.infer<typeof WireGlobalEvent>, "payload"> & { payload: SessionEvent }
  expectTypeOf<Global>().toExtend<Sdk.GlobalEvent>()
})

test("requests of the OpenCode client are accepted", () => {
  type Prompt = NonNullable<Sdk.SessionPromptData["body"]>
  type Plain = Omit<Prompt, "format" | "parts"> & {
    format?: Sdk.OutputFormatText
    parts: (Sdk.TextPartInput | Sdk.AgentPartInput | Sdk.SubtaskPartInput)[]
  }
  expectTypeOf<Plain>().toExtend<z.input<typeof PromptBody>>()
  expectTypeOf<NonNullable<Sdk.SessionShellData["body"]>>().toExtend<z.input<typeof ShellBody>>()
  type Update = z.input<(typeof sessionRoutes)["update"]["body"]>
  expectTypeOf<NonNullable<Sdk.SessionUpdateData["body"]>>().toExtend<Update>()
})
