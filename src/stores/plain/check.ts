import { type PlainSession, type PlainState, reachedLists } from "./model.ts"

/** Returns one sentence for each contradiction in the state. */
export function checkState(state: PlainState): string[] {
  return [...state.sessions.values()].flatMap((session) => {
    const problems = checkSession(session)
    const { parentID } = session.info
    if (parentID !== undefined && !state.sessions.has(parentID))
      problems.push(`its parent ${parentID} is missing`)
    if (session.newest > state.version) problems.push("it is newer than the store")
    return problems.map((problem) => `session ${session.info.id}: ${problem}`)
  })
}

function checkSession(session: PlainSession): string[] {
  const problems: string[] = []
  if (session.positions.size !== session.messages.length) problems.push("two messages have the same id")
  for (const [id, position] of session.positions) {
    if (session.messages[position]?.body.id !== id) problems.push(`message ${id} is not at ${position}`)
  }
  for (const messages of reachedLists(session)) {
    messages.forEach((message, position) => {
      const isLast = messages === session.messages && position === messages.length - 1
      if (!message.sealed && !isLast) problems.push(`message ${message.body.id} is open but not the last`)
      if (message.sealed && message.parts.some((part) => part.pieces.length > 0)) {
        problems.push(`message ${message.body.id} is sealed but has pieces`)
      }
    })
  }
  return problems
}
