import { createHash } from "node:crypto"
import type { HistoryItem, Revert, Session } from "../../../protocol/index.ts"
import { StemmaError } from "../../../protocol/index.ts"
import type { SharedHeader, SharedMessage, SharePreview } from "../../../protocol/routes/share-shapes.ts"
import type { StoreReader } from "../../../run/index.ts"
import { namesakesMax, promptTitle } from "../../../session/index.ts"
import type { MessageMask, ShareMasks } from "../mask/share-mask.ts"
import { type Include, includeOf } from "./shared-message.ts"
import type { TitleSource } from "./shared-title.ts"

/** A shared session, with its options and its mask. */
export interface SharedSession {
  session: Session
  include: Include
  mask: MessageMask
}

/** A range, and what was masked in it. */
export interface PreviewedRange extends SharedRange {
  masked: SharePreview["masked"]
}

/** A range of the visible messages. */
export interface SharedRange {
  header: SharedHeader
  include: Include
  /** Changes when a message that was visible is hidden or replaced. */
  key: string
  messages: SharedMessage[]
  /** The range covers the positions from `from` to `next`. */
  from: number
  next: number
}

/** How a session is found, again after each read, and the name under which it is found. */
interface Sought {
  find: () => Promise<SharedSession | undefined>
  name: string
}

const secretPattern = /^[A-Za-z0-9_-]{20,256}$/
const pageLimit = 50
/** The maximum number of messages, and of UTF-16 units of text, in one range. */
export const messagesMax = 200
export const shownUnitsMax = 1024 * 1024
const triesMax = 10

export class SharedReader {
  readonly #reader: StoreReader
  readonly #masks: ShareMasks

  constructor(reader: StoreReader, masks: ShareMasks) {
    this.#reader = reader
    this.#masks = masks
  }

  /** The session that is shared under a secret and may be seen. Undefined if there is none. */
  async find(secret: string): Promise<SharedSession | undefined> {
    const session = await this.#session(secret)
    const mask = session && (await this.#masks.forSession(session))
    return mask && { session, include: includeOf(session), mask }
  }

  /** Whether a session is shared under a secret, even if it may not be seen at the moment. */
  async isShared(secret: string): Promise<boolean> {
    return (await this.#session(secret)) !== undefined
  }

  async #session(secret: string): Promise<Session | undefined> {
    if (!secretPattern.test(secret)) return undefined
    const { items } = await this.#reader.sessions({ share: secret, limit: 1 })
    const session = items[0]
    return session?.share?.secret === secret && session.parentID === undefined ? session : undefined
  }

  /** The newest messages, or the newest before a position. Undefined if nothing is shared under the secret. */
  last(secret: string, options: { before?: number } = {}): Promise<SharedRange | undefined> {
    return this.#readLast(this.#under(secret), options)
  }

  #readLast(sought: Sought, options: { before?: number }): Promise<SharedRange | undefined> {
    return this.#readConsistently(sought, async (found, end) => {
      const to = Math.min(options.before ?? end, end)
      const items = await this.#itemsBefore(found.session, to)
      return { items, from: items[0]?.position ?? 0, next: Math.max(0, to) }
    })
  }

  #under(secret: string): Sought {
    return { find: () => this.find(secret), name: secret }
  }

  /**
   * What readers of a session would see, and what is masked, even if the session is not shared. Undefined if the config
   * forbids sharing.
   */
  async preview(
    sessionID: string,
    include: Include,
    options: { before?: number },
  ): Promise<PreviewedRange | undefined> {
    let masked: SharePreview["masked"] = []
    const find = async (): Promise<SharedSession | undefined> => {
      const session = await this.#reader.session(sessionID)
      const mask = await this.#masks.forSession(session)
      masked = []
      return mask && { session, include, mask: mask.recorded(masked) }
    }
    const range = await this.#readLast({ find, name: sessionID }, options)
    return range && { ...range, masked }
  }

  /** The messages from a position on. Undefined if nothing is shared under the secret. */
  from(secret: string, from: number): Promise<SharedRange | undefined> {
    return this.#readConsistently(this.#under(secret), async ({ session }, end) => {
      const { items } = await this.#reader.history(session.id, {
        from,
        to: Math.max(from, end),
        take: "start",
        limit: pageLimit,
      })
      return { items, from, next: end }
    })
  }

  /**
   * Reads items and checks that they were visible when they were read: a person may end the share, hide a message or
   * revert at any moment. Reads again if something changed.
   */
  async #readConsistently(
    { find, name }: Sought,
    read: (
      found: SharedSession,
      end: number,
    ) => Promise<{ items: readonly HistoryItem[]; from: number; next: number }>,
  ): Promise<SharedRange | undefined> {
    let found = await find()
    for (let tries = 0; found && tries < triesMax; tries++) {
      const mark = found.session.revert
      const marked =
        mark && (await this.#reader.history(found.session.id, { messageID: mark.messageID })).items[0]
      const end = mark ? visibleEnd(mark, marked) : found.session.history.count
      const { items, from, next } = await read(found, end)
      const titleSource = await this.#titleSource(found.session, end)
      const after = await find()
      if (after && visibilityKey(name, after) === visibilityKey(name, found)) {
        return await rangeOf(after, { name, items, from, next, titleSource })
      }
      found = after
    }
    if (!found) return undefined
    throw new StemmaError("unavailable", "The session changes too fast to be read. Try again in a moment.")
  }

  /** The prompt that the title was made from, hidden or not. If no prompt fits the title, the first prompt. */
  async #titleSource({ id, title, revert }: Session, end: number): Promise<TitleSource | undefined> {
    const { items } = await this.#reader.history(id, { take: "start", limit: namesakesMax })
    const prompts = items.filter((item) => item.message.role === "user" && promptTitle(item.parts) !== "")
    const prompt = prompts.find(({ parts }) => promptTitle(parts) === title) ?? prompts[0]
    if (!prompt) return undefined
    const visible = prompt.position < end ? cutAtRevert(prompt, revert).parts : []
    return {
      title: promptTitle(prompt.parts),
      texts: prompt.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])),
      isHidden: promptTitle(visible) === "",
    }
  }

  async #itemsBefore(session: Session, end: number): Promise<HistoryItem[]> {
    let items: HistoryItem[] = []
    let units = 0
    let to = end
    while (to > 0 && items.length < messagesMax && units < shownUnitsMax) {
      const page = await this.#reader.history(session.id, { to, take: "end", limit: pageLimit })
      if (page.items.length === 0) break
      for (const item of page.items.toReversed()) {
        units += textUnits(item)
        if (items.length >= messagesMax || (items.length > 0 && units > shownUnitsMax)) break
        items = [item, ...items]
      }
      to = page.items[0]!.position
    }
    return items
  }
}

/** If the revert is at a part, the beginning of its message is still visible. */
function visibleEnd(mark: Revert, marked: HistoryItem | undefined): number {
  if (!marked) return 0
  return mark.partID === undefined ? marked.position : marked.position + 1
}

async function rangeOf(
  { session, include, mask }: SharedSession,
  {
    name,
    items,
    from,
    next,
    titleSource,
  }: {
    name: string
    items: readonly HistoryItem[]
    from: number
    next: number
    titleSource: TitleSource | undefined
  },
): Promise<SharedRange> {
  const messages: SharedMessage[] = []
  let end = from
  for (const item of items) {
    if (!item.sealed) break
    const shown = await mask.message(cutAtRevert(item, session.revert), {
      include,
      epoch: session.history.epoch,
    })
    if (shown) messages.push(shown)
    end = item.position + 1
  }
  const header = mask.header(session, { include, titleSource })
  const key = visibilityKey(name, { session, include, mask })
  return { header, include, key, messages, from, next: Math.min(next, end) }
}

function cutAtRevert(item: HistoryItem, mark: Revert | undefined): HistoryItem {
  if (mark?.partID === undefined || item.message.id !== mark.messageID) return item
  const at = item.parts.findIndex(({ id }) => id === mark.partID)
  return { ...item, parts: item.parts.slice(0, Math.max(0, at)) }
}

/** Stays the same while the messages that were visible stay visible. It reveals nothing about the session. */
export function visibilityKey(secret: string, { session, include, mask }: SharedSession): string {
  const { history, revert } = session
  const { reasoning, tools } = include
  const state = [secret, history.epoch, revert?.messageID, revert?.partID, reasoning, tools, mask.fingerprint]
  return createHash("sha256").update(JSON.stringify(state)).digest("base64url").slice(0, 16)
}

function textUnits({ parts }: HistoryItem): number {
  let units = 0
  for (const part of parts) {
    if (part.type === "text" || part.type === "reasoning") units += part.text.length
    else if (part.type === "tool" && part.state.status === "completed") units += part.state.output.length
  }
  return units
}
