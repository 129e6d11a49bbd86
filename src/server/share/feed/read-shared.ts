import { createHash } from "node:crypto"
import type { HistoryItem, Revert, Session } from "../../../protocol/index.ts"
import { StemmaError } from "../../../protocol/index.ts"
import type { StoreReader } from "../../../run/index.ts"
import { namesakesMax, promptTitle } from "../../../session/index.ts"
import type { ShareMask, ShareMasks } from "../mask/share-mask.ts"
import type { SharedHeader, SharedMessage } from "../shapes.ts"
import { type Include, includeOf } from "./shown-message.ts"
import type { Namesake } from "./shown-title.ts"

/** A session that is shared, as it was found. */
export interface SharedSession {
  session: Session
  include: Include
  mask: ShareMask
}

/** A stretch of what is shown. */
export interface SharedStretch {
  header: SharedHeader
  include: Include
  /** Changes when something that was shown is hidden or replaced. */
  key: string
  messages: SharedMessage[]
  /** It covers the positions from here to `next`. */
  from: number
  next: number
}

const secretForm = /^[A-Za-z0-9_-]{20,256}$/
const pageLimit = 50
/** More than this is not shown at once. */
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

  /** The session that is shared under a secret and may be seen; undefined if there is none. */
  async find(secret: string): Promise<SharedSession | undefined> {
    const session = await this.#session(secret)
    const mask = session && (await this.#masks.of(session))
    return mask && { session, include: includeOf(session), mask }
  }

  /** Whether a session is shared under a secret, though it may not be seen just now. */
  async isShared(secret: string): Promise<boolean> {
    return (await this.#session(secret)) !== undefined
  }

  async #session(secret: string): Promise<Session | undefined> {
    if (!secretForm.test(secret)) return undefined
    const { items } = await this.#reader.sessions({ share: secret, limit: 1 })
    const session = items[0]
    return session?.share?.secret === secret && session.parentID === undefined ? session : undefined
  }

  /** The newest messages, or the newest before a position. Undefined if nothing is shared under the secret. */
  last(secret: string, options: { before?: number } = {}): Promise<SharedStretch | undefined> {
    return this.#settled(secret, async (found, end) => {
      const to = Math.min(options.before ?? end, end)
      const items = await this.#itemsBefore(found.session, to)
      return { items, from: items[0]?.position ?? 0, next: Math.max(0, to) }
    })
  }

  /** The messages from a position on. Undefined if nothing is shared under the secret. */
  from(secret: string, from: number): Promise<SharedStretch | undefined> {
    return this.#settled(secret, async ({ session }, end) => {
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
   * Reads items, and makes sure that they were to be seen when they were read: whoever ends a share, hides a message or takes
   * one back may do so at any moment.
   */
  async #settled(
    secret: string,
    read: (
      found: SharedSession,
      end: number,
    ) => Promise<{ items: readonly HistoryItem[]; from: number; next: number }>,
  ): Promise<SharedStretch | undefined> {
    let found = await this.find(secret)
    for (let tries = 0; found && tries < triesMax; tries++) {
      const mark = found.session.revert
      const marked =
        mark && (await this.#reader.history(found.session.id, { messageID: mark.messageID })).items[0]
      const end = mark ? endUnder(mark, marked) : found.session.history.count
      const { items, from, next } = await read(found, end)
      const namesake = await this.#namesake(found.session, end)
      const after = await this.find(secret)
      if (after && keyOf(secret, after) === keyOf(secret, found)) {
        return await stretchOf(after, { secret, items, from, next, namesake })
      }
      found = after
    }
    if (!found) return undefined
    throw new StemmaError("unavailable", "The session changes too fast to be read. Try again soon.")
  }

  /** The prompt that a session is called after, hidden or not: if none is found, the first. */
  async #namesake({ id, title, revert }: Session, end: number): Promise<Namesake | undefined> {
    const { items } = await this.#reader.history(id, { take: "start", limit: namesakesMax })
    const prompts = items.filter((item) => item.message.role === "user" && promptTitle(item.parts) !== "")
    const prompt = prompts.find(({ parts }) => promptTitle(parts) === title) ?? prompts[0]
    if (!prompt) return undefined
    const visible = prompt.position < end ? cutAt(prompt, revert).parts : []
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
        units += unitsOf(item)
        if (items.length >= messagesMax || (items.length > 0 && units > shownUnitsMax)) break
        items = [item, ...items]
      }
      to = page.items[0]!.position
    }
    return items
  }
}

/** Under a mark at a part, the beginning of that message is still to be seen. */
function endUnder(mark: Revert, marked: HistoryItem | undefined): number {
  if (!marked) return 0
  return mark.partID === undefined ? marked.position : marked.position + 1
}

async function stretchOf(
  { session, include, mask }: SharedSession,
  {
    secret,
    items,
    from,
    next,
    namesake,
  }: {
    secret: string
    items: readonly HistoryItem[]
    from: number
    next: number
    namesake: Namesake | undefined
  },
): Promise<SharedStretch> {
  const messages: SharedMessage[] = []
  let end = from
  for (const item of items) {
    if (!item.sealed) break
    const shown = await mask.message(cutAt(item, session.revert), {
      include,
      epoch: session.history.epoch,
    })
    if (shown) messages.push(shown)
    end = item.position + 1
  }
  const header = mask.header(session, { include, namesake })
  const key = keyOf(secret, { session, include, mask })
  return { header, include, key, messages, from, next: Math.min(next, end) }
}

function cutAt(item: HistoryItem, mark: Revert | undefined): HistoryItem {
  if (mark?.partID === undefined || item.message.id !== mark.messageID) return item
  const at = item.parts.findIndex(({ id }) => id === mark.partID)
  return { ...item, parts: item.parts.slice(0, Math.max(0, at)) }
}

/** The same as long as what was shown stays to be seen. It tells nothing about the session. */
export function keyOf(secret: string, { session, include, mask }: SharedSession): string {
  const { history, revert } = session
  const { reasoning, tools } = include
  const state = [secret, history.epoch, revert?.messageID, revert?.partID, reasoning, tools, mask.mark]
  return createHash("sha256").update(JSON.stringify(state)).digest("base64url").slice(0, 16)
}

function unitsOf({ parts }: HistoryItem): number {
  let units = 0
  for (const part of parts) {
    if (part.type === "text" || part.type === "reasoning") units += part.text.length
    else if (part.type === "tool" && part.state.status === "completed") units += part.state.output.length
  }
  return units
}
