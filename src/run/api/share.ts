import { type Session, type Share, StemmaError } from "../../protocol/index.ts"
import type { Engine } from "../engine.ts"

export interface ShareOptions {
  /** The public address. */
  url: string
  /** Anybody who knows the secret may read the session, so it needs at least 128 random bits. */
  secret: string
  /** Which parts are shown in addition to text. */
  include?: NonNullable<Share["include"]>
}

/** Shares a session with everybody who knows the secret. Sharing again with another secret makes the first one invalid. */
export async function shareSession(engine: Engine, id: string, share: ShareOptions): Promise<Session> {
  const session = await engine.store.session(id)
  if (session.parentID !== undefined) {
    throw new StemmaError(
      "invalid",
      `Session ${id} is a child and cannot be shared by itself. Share the root session of its tree.`,
    )
  }
  const { loaded } = await (await engine.projects.get(session.directory)).setup()
  if (loaded.config.share === "disabled") {
    throw new StemmaError("denied", 'The config of this project forbids sharing: `share` is "disabled".')
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
