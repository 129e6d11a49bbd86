import { type Session, type Share, StemmaError } from "../../protocol/index.ts"
import type { Engine } from "../engine.ts"

export interface ShareOptions {
  /** Where it can be read. */
  url: string
  /** Whoever knows it may read the session: at least 128 bits that nobody can guess. */
  secret: string
  /** What is shown beside the text. */
  include?: NonNullable<Share["include"]>
}

/** Lets everybody who knows the secret read the session; a second time, with another secret, takes the first one back. */
export async function shareSession(engine: Engine, id: string, share: ShareOptions): Promise<Session> {
  const session = await engine.store.session(id)
  if (session.parentID !== undefined) {
    throw new StemmaError(
      "invalid",
      `Session ${id} works for another one and is not shared on its own. Share the session at the root of its tree.`,
    )
  }
  const { loaded } = await (await engine.projects.get(session.directory)).setup()
  if (loaded.config.share === "disabled") {
    throw new StemmaError("denied", 'The config of this project forbids sharing: it says share: "disabled".')
  }
  return setShare(engine, id, share)
}

export async function unshareSession(engine: Engine, id: string): Promise<Session> {
  return setShare(engine, id, null)
}

async function setShare({ store }: Engine, sessionID: string, share: Share | null): Promise<Session> {
  await store.commit({ ops: [{ op: "session.patch", sessionID, set: { share } }] })
  return store.session(sessionID)
}
