import type { Tokens } from "../../protocol/index.ts"
import { addCost, addTokens } from "../../session/index.ts"
import type { Store } from "../../stores/store.ts"

export interface Usage {
  tokens: Tokens
  /** Dollars, exact to 1e-12. */
  cost: number
}

export interface SessionUsage extends Usage {
  /** The session and all its descendants. */
  tree: Usage & { sessions: number }
}

export async function sessionUsage(store: Store, sessionID: string): Promise<SessionUsage> {
  const [root, ...below] = await store.tree(sessionID)
  const { tokens, cost } = root!
  const tree = { tokens, cost, sessions: 1 + below.length }
  for (const child of below) {
    tree.tokens = addTokens(tree.tokens, child.tokens)
    tree.cost = addCost(tree.cost, child.cost)
  }
  return { tokens, cost, tree }
}
