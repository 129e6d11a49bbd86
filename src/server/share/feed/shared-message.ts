import type { HistoryItem, Part, PartOf, Session } from "../../../protocol/index.ts"
import type { SharedMask } from "../mask/mask-shared.ts"
import type { SharedHeader, SharedMessage, SharedPart } from "../shapes.ts"
import { type LongText, nameUnitsMax, shownTexts } from "./shown-texts.ts"
import { type Namesake, shownTitle } from "./shown-title.ts"

export interface Include {
  reasoning: boolean
  tools: boolean
}

export function includeOf({ share }: Session): Include {
  return { reasoning: share?.include?.reasoning === true, tools: share?.include?.tools === true }
}

export interface ShowOptions {
  include: Include
  mask: SharedMask
  /** The size of a blob; undefined if it is not known. */
  sizeOf(hash: string): Promise<number | undefined>
}

/** Of all that a message says, of what one call was given or gave back, and of all its calls. */
const textUnitsMax = 120_000
const toolUnitsMax = 20_000
const toolsUnitsMax = 120_000
const partsMax = 500
/** After this long others come first. */
const sliceMs = 10
const errorUnitsMax = 300

/** What everybody may see of a session beside its messages. */
export function shownHeader(
  session: Session,
  { include, mask, namesake }: Omit<ShowOptions, "sizeOf"> & { namesake: Namesake | undefined },
): SharedHeader {
  const { agent, model, time } = session
  return {
    title: shownTitle(session, { mask, namesake }),
    ...(agent !== undefined && { agent: mask([agent])[0]! }),
    ...(model !== undefined && { model: mask([`${model.providerID}/${model.modelID}`])[0]! }),
    time: { created: time.created, updated: time.updated },
    include,
  }
}

/** What everybody may see of a sealed message; undefined if that is nothing. */
export async function shownMessage(
  item: HistoryItem,
  options: ShowOptions,
): Promise<SharedMessage | undefined> {
  const { message } = item
  const drafts = draftsOf(item, options.include)
  const error = message.role === "assistant" ? message.error : undefined
  if (drafts.length === 0 && error === undefined) return undefined
  const model = message.role === "assistant" ? message : message.model
  const names = [message.agent, `${model.providerID}/${model.modelID}`].map(
    (name) => options.mask([name])[0]!,
  )
  return {
    id: message.id,
    position: item.position,
    role: message.role,
    agent: names[0]!,
    model: names[1]!,
    time: message.time,
    parts: await finish(drafts, options),
    ...(error && {
      error: {
        name: error.name,
        message: shownTexts([{ text: error.data.message ?? "", unitsMax: errorUnitsMax }], options.mask)[0]!,
      },
    }),
  }
}

/** A part with its texts aside, until they have been looked through together. */
interface Draft {
  part: SharedPart
  texts: (LongText & { key: "text" | "title" | "input" | "output" | "error" | "name" | "mime" | "tool" })[]
  blob?: string
}

function draftsOf({ message, parts }: HistoryItem, include: Include): Draft[] {
  const isSummary = message.role === "assistant" && message.summary === true
  if (isSummary || parts.some(({ type }) => type === "compaction")) {
    return [{ part: { type: "compaction" }, texts: [] }]
  }
  return parts.flatMap((part) => draftOf(part, include))
}

function draftOf(part: Part, include: Include): Draft[] {
  switch (part.type) {
    case "text":
      if (part.text.trim() === "" || (part.synthetic && !include.tools)) return []
      return [
        {
          part: { type: "text", text: "" },
          texts: [{ key: "text", text: part.text, unitsMax: textUnitsMax }],
        },
      ]
    case "reasoning":
      if (part.text.trim() === "" || !include.reasoning) return []
      return [
        {
          part: { type: "reasoning", text: "" },
          texts: [{ key: "text", text: part.text, unitsMax: textUnitsMax }],
        },
      ]
    case "tool":
      return toolDrafts(part, include)
    case "file":
      return [fileDraft(part)]
    case "subtask":
      return [{ part: { type: "task" }, texts: [] }]
    case "agent":
    case "compaction":
    case "retry":
    case "step-start":
    case "step-finish":
    case "snapshot":
    case "patch":
      return []
    default:
      return part satisfies never
  }
}

/** What a subagent was told and said belongs to a session that is not shared. */
function toolDrafts({ tool, state }: PartOf<"tool">, include: Include): Draft[] {
  if (state.status !== "completed" && state.status !== "error") return []
  const part: SharedPart = { type: "tool", tool: "", status: state.status }
  const texts: Draft["texts"] = [{ key: "tool", text: tool, unitsMax: nameUnitsMax }]
  if (!include.tools || tool === "task") return [{ part, texts }]
  texts.push({ key: "input", text: JSON.stringify(state.input, undefined, 2), unitsMax: toolUnitsMax })
  if (state.status === "error") texts.push({ key: "error", text: state.error, unitsMax: toolUnitsMax })
  else {
    texts.push({ key: "title", text: state.title, unitsMax: nameUnitsMax })
    texts.push({ key: "output", text: state.output, unitsMax: toolUnitsMax })
  }
  const attachments = state.status === "completed" ? (state.attachments ?? []) : []
  return [{ part, texts }, ...attachments.map(fileDraft)]
}

function fileDraft({
  filename,
  mime,
  url,
}: {
  filename?: string | undefined
  mime: string
  url: string
}): Draft {
  const name = filename?.split(/[/\\]/).at(-1) || "attachment"
  const bytes = url.startsWith("data:") ? Math.floor((url.length - url.indexOf(",") - 1) * 0.75) : undefined
  return {
    part: { type: "file", name: "", mime: "", ...(bytes !== undefined && { bytes }) },
    texts: [
      { key: "name", text: name, unitsMax: nameUnitsMax },
      { key: "mime", text: mime, unitsMax: nameUnitsMax },
    ],
    ...(url.startsWith("blob:") && { blob: url.slice("blob:".length) }),
  }
}

/** What is said is looked through as one, whatever lies between; each other text by itself. */
async function finish(all: readonly Draft[], { mask, sizeOf }: ShowOptions): Promise<SharedPart[]> {
  const drafts = bounded(all)
  const said = drafts.flatMap(({ texts }) => texts).filter(({ key }) => key === "text")
  const clean = shownTexts(said, mask).values()
  const parts: SharedPart[] = []
  let startMs = performance.now()
  for (const { part, texts, blob } of drafts) {
    if (performance.now() - startMs > sliceMs) {
      await new Promise((resolve) => setImmediate(resolve))
      startMs = performance.now()
    }
    const shown = texts.map((one) => [
      one.key,
      one.key === "text" ? clean.next().value! : shownTexts([one], mask)[0]!,
    ])
    const bytes = blob === undefined ? undefined : await sizeOf(blob)
    parts.push({ ...part, ...Object.fromEntries(shown), ...(bytes !== undefined && { bytes }) })
  }
  if (all.length > drafts.length) parts.push({ type: "text", text: "…" })
  return parts
}

/** No more than a reader may ask for: whoever knows the address can ask again and again. */
function bounded(drafts: readonly Draft[]): Draft[] {
  const left = { said: textUnitsMax, tools: toolsUnitsMax }
  return drafts.slice(0, partsMax).map((draft) => ({
    ...draft,
    texts: draft.texts.map((one) => {
      const kind = one.key === "text" ? "said" : "tools"
      const unitsMax = Math.min(one.unitsMax, left[kind])
      left[kind] -= Math.min(unitsMax, one.text.length)
      return { ...one, unitsMax }
    }),
  }))
}
