import type { HistoryItem, Part, PartOf, Session } from "../../../protocol/index.ts"
import type { SharedHeader, SharedMessage, SharedPart } from "../../../protocol/routes/share-shapes.ts"
import type { SharedMask } from "../mask/mask-shared.ts"
import { type LimitedText, maskedTexts, nameUnitsMax } from "./masked-texts.ts"
import { sharedTitle, type TitleSource } from "./shared-title.ts"

export interface Include {
  reasoning: boolean
  tools: boolean
}

export function includeOf({ share }: Session): Include {
  return { reasoning: share?.include?.reasoning === true, tools: share?.include?.tools === true }
}

export interface SharedMessageOptions {
  include: Include
  mask: SharedMask
  /** The size of a blob. Undefined if it is not known. */
  sizeOf(hash: string): Promise<number | undefined>
}

/** Limits for the text of a message, for the input or output of one tool call, and for all tool calls of a message. */
const textUnitsMax = 120_000
const toolUnitsMax = 20_000
const toolsUnitsMax = 120_000
const partsMax = 500
/** After this long the work yields to the event loop. */
const sliceMs = 10
const errorUnitsMax = 300

/** The public data of a session, besides its messages. */
export function sharedHeader(
  session: Session,
  {
    include,
    mask,
    titleSource,
  }: Omit<SharedMessageOptions, "sizeOf"> & { titleSource: TitleSource | undefined },
): SharedHeader {
  const { agent, model, time } = session
  return {
    title: sharedTitle(session, { mask, titleSource }),
    ...(agent !== undefined && { agent: mask([agent])[0]! }),
    ...(model !== undefined && { model: mask([`${model.providerID}/${model.modelID}`])[0]! }),
    time: { created: time.created, updated: time.updated },
    include,
  }
}

/** The public form of a sealed message. Undefined if no part of it is public. */
export async function sharedMessage(
  item: HistoryItem,
  options: SharedMessageOptions,
): Promise<SharedMessage | undefined> {
  const { message } = item
  const unmasked = unmaskedParts(item, options.include)
  const error = message.role === "assistant" ? message.error : undefined
  if (unmasked.length === 0 && error === undefined) return undefined
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
    parts: await maskParts(unmasked, options),
    ...(error && {
      error: {
        name: error.name,
        message: maskedTexts([{ text: error.data.message ?? "", unitsMax: errorUnitsMax }], options.mask)[0]!,
      },
    }),
  }
}

/** A part whose texts are not masked yet, because some texts are masked together. */
interface UnmaskedPart {
  part: SharedPart
  texts: (LimitedText & { key: "text" | "title" | "input" | "output" | "error" | "name" | "mime" | "tool" })[]
  blob?: string
}

function unmaskedParts({ message, parts }: HistoryItem, include: Include): UnmaskedPart[] {
  const isSummary = message.role === "assistant" && message.summary === true
  if (isSummary || parts.some(({ type }) => type === "compaction")) {
    return [{ part: { type: "compaction" }, texts: [] }]
  }
  return parts.flatMap((part) => unmaskedPart(part, include))
}

function unmaskedPart(part: Part, include: Include): UnmaskedPart[] {
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
      return unmaskedTool(part, include)
    case "file":
      return [unmaskedFile(part)]
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

/** The prompt and the answer of a subagent belong to another session, which is not shared. */
function unmaskedTool({ tool, state }: PartOf<"tool">, include: Include): UnmaskedPart[] {
  if (state.status !== "completed" && state.status !== "error") return []
  const part: SharedPart = { type: "tool", tool: "", status: state.status }
  const texts: UnmaskedPart["texts"] = [{ key: "tool", text: tool, unitsMax: nameUnitsMax }]
  if (!include.tools || tool === "task") return [{ part, texts }]
  texts.push({ key: "input", text: JSON.stringify(state.input, undefined, 2), unitsMax: toolUnitsMax })
  if (state.status === "error") texts.push({ key: "error", text: state.error, unitsMax: toolUnitsMax })
  else {
    texts.push({ key: "title", text: state.title, unitsMax: nameUnitsMax })
    texts.push({ key: "output", text: state.output, unitsMax: toolUnitsMax })
  }
  const attachments = state.status === "completed" ? (state.attachments ?? []) : []
  return [{ part, texts }, ...attachments.map(unmaskedFile)]
}

function unmaskedFile({
  filename,
  mime,
  url,
}: {
  filename?: string | undefined
  mime: string
  url: string
}): UnmaskedPart {
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

/**
 * Masks the texts of a message together, so that a secret that spans several parts is found. Other texts are masked one
 * by one.
 */
async function maskParts(
  all: readonly UnmaskedPart[],
  { mask, sizeOf }: SharedMessageOptions,
): Promise<SharedPart[]> {
  const unmasked = limitTexts(all)
  const said = unmasked.flatMap(({ texts }) => texts).filter(({ key }) => key === "text")
  const clean = maskedTexts(said, mask).values()
  const parts: SharedPart[] = []
  let startMs = performance.now()
  for (const { part, texts, blob } of unmasked) {
    if (performance.now() - startMs > sliceMs) {
      await new Promise((resolve) => setImmediate(resolve))
      startMs = performance.now()
    }
    const shown = texts.map((one) => [
      one.key,
      one.key === "text" ? clean.next().value! : maskedTexts([one], mask)[0]!,
    ])
    const bytes = blob === undefined ? undefined : await sizeOf(blob)
    parts.push({ ...part, ...Object.fromEntries(shown), ...(bytes !== undefined && { bytes }) })
  }
  if (all.length > unmasked.length) parts.push({ type: "text", text: "…" })
  return parts
}

/** Limits the work for one message, because anyone with the link can request it again and again. */
function limitTexts(unmasked: readonly UnmaskedPart[]): UnmaskedPart[] {
  const left = { said: textUnitsMax, tools: toolsUnitsMax }
  return unmasked.slice(0, partsMax).map((part) => ({
    ...part,
    texts: part.texts.map((one) => {
      const kind = one.key === "text" ? "said" : "tools"
      const unitsMax = Math.min(one.unitsMax, left[kind])
      left[kind] -= Math.min(unitsMax, one.text.length)
      return { ...one, unitsMax }
    }),
  }))
}
