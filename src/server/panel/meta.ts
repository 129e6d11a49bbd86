import type { Session } from "../../protocol/index.ts"
import type { Stemma } from "../../run/index.ts"
import type { SessionMeta } from "./routes.ts"

const rememberedMax = 2000

/** A cache of context sizes, valid until the session changes: counting takes some milliseconds per session. */
export class TokenEstimates {
  readonly #stemma: Stemma
  readonly #known = new Map<string, { seq: number; tokens: number }>()

  constructor(stemma: Stemma) {
    this.#stemma = stemma
  }

  async of({ id, seq, history }: Session): Promise<number> {
    if (history.count === 0) return 0
    const known = this.#known.get(id)
    if (known?.seq === seq) return known.tokens
    const tokens = await (await this.#stemma.sessions.get(id)).contextSize()
    if (this.#known.size >= rememberedMax) this.#known.clear()
    this.#known.set(id, { seq, tokens })
    return tokens
  }
}

export async function metaOf(session: Session, estimates: TokenEstimates): Promise<SessionMeta> {
  const { id, agent = "", key, title, time, history } = session
  return {
    id,
    agentId: agent,
    ...(key !== undefined && { key }),
    title,
    messageCount: history.count,
    createdAt: time.created,
    lastAt: time.updated,
    ...(time.archived !== undefined && { archivedAt: time.archived }),
    tokenEstimate: await estimates.of(session),
  }
}
