import type { Session, Tokens } from "../protocol/index.ts"
import { addCost, addTokens } from "../session/index.ts"
import type { Store } from "../stores/store.ts"

export interface Usage {
  tokens: Tokens
  /** Dollars, exact to 1e-12. */
  cost: number
}

export interface SessionUsage extends Usage {
  /** The session with its children, theirs, and so on. */
  tree: Usage & { sessions: number }
}

export async function sessionUsage(store: Store, sessionID: string): Promise<SessionUsage> {
  const { tokens, cost } = await store.session(sessionID)
  const tree = { tokens, cost, sessions: 1 }
  const parents = [sessionID]
  for (let parentID = parents.pop(); parentID !== undefined; parentID = parents.pop()) {
    for (const child of await childrenOf(store, parentID)) {
      tree.tokens = addTokens(tree.tokens, child.tokens)
      tree.cost = addCost(tree.cost, child.cost)
      tree.sessions++
      parents.push(child.id)
    }
  }
  return { tokens, cost, tree }
}

async function childrenOf(store: Store, parentID: string): Promise<Session[]> {
  const children: Session[] = []
  let cursor: string | undefined
  do {
    const page = await store.sessions({ parentID, limit: 1000, ...(cursor !== undefined && { cursor }) })
    children.push(...page.items)
    cursor = page.next
  } while (cursor !== undefined)
  return children
}
