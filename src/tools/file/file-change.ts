import { randomUUID } from "node:crypto"
import { constants, type Stats } from "node:fs"
import { access, type FileHandle, link, rename, unlink } from "node:fs/promises"
import { basename, dirname } from "node:path"
import type { JsonObject } from "../../protocol/index.ts"
import type { HeldDirectory } from "../../system/held-directory.ts"
import { holdDirectory } from "../../system/hold-directory.ts"
import { countLines, unifiedDiff } from "../../workspace/line-diff.ts"
import type { ResolvedPath } from "../../workspace/workspace.ts"
import { cutText } from "../output.ts"
import type { FileState, WantsContext } from "../tool.ts"
import { explained, holdParent, isErrno, type OpenedFile, openEntry, stateOf } from "./open-file.ts"
import { shownName } from "./shown-name.ts"

/** Larger texts are not compared, because such a diff is too long to read. */
const comparedCharactersMax = 1024 * 1024
const diffCharactersMax = 64 * 1024

/**
 * Opens the file to change; undefined if there is none. Throws unless this session has read the file in its current
 * state, so that a change by another process is not lost.
 */
export async function openKnown(
  location: ResolvedPath,
  context: WantsContext,
): Promise<OpenedFile | undefined> {
  const held = await holdParent(location)
  if (held === undefined) return undefined
  await using _ = held
  const opened = await openEntry(held, location)
  if (opened === undefined) return undefined
  try {
    const known = context.reads.known(location.path)
    if (known === undefined)
      throw new Error(
        `${shownName(location.name)} exists and was not read yet. Read it first, then call again.`,
      )
    if (!isSame(known, stateOf(opened.stats))) {
      throw new Error(
        `${shownName(location.name)} has changed since it was read. Read it again, then call again.`,
      )
    }
    await access(held.entry(basename(location.path)), constants.W_OK).catch(() => {
      throw new Error(
        `${shownName(location.name)} is read-only. Ask the user to make it writable if it must be changed.`,
      )
    })
    return opened
  } catch (error) {
    await opened.handle.close()
    throw error
  }
}

export interface Change {
  /** Undefined for a new file, or for a file that is not text. */
  before: string | undefined
  after: string
  exists: boolean
}

/** What a person is shown of a change. */
export function changeMetadata(location: ResolvedPath, { before, after, exists }: Change): JsonObject {
  const comparable =
    (!exists || before !== undefined) && after.length + (before?.length ?? 0) <= comparedCharactersMax
  if (!comparable) return { filepath: location.path, exists, diff: "" }
  const diff = unifiedDiff(before ?? "", after, { file: shownName(location.name) })
  const shown = diff.length > diffCharactersMax ? `${cutText(diff, diffCharactersMax)}\n(cut)` : diff
  return { filepath: location.path, exists, ...countLines(before ?? "", after), diff: shown }
}

/**
 * Writes a file atomically: readers see the old text or the new one. `before` is the file's state when permission was
 * requested. If the file has changed since, or a file has appeared where there was none, nothing is written. Returns
 * the new state.
 */
export async function replaceFile(
  location: ResolvedPath,
  { text, before }: { text: string; before: Stats | undefined },
): Promise<FileState> {
  try {
    return await replace(location, { text, before })
  } catch (error) {
    throw explained(error, `${shownName(location.name)} could not be written`)
  }
}

/** Everything happens in the held directory, so that nothing is left outside if its path is replaced by a symlink. */
async function replace(
  location: ResolvedPath,
  { text, before }: { text: string; before: Stats | undefined },
): Promise<FileState> {
  await using held = await holdDirectory(dirname(location.path), { create: before === undefined })
  const temporary = `.stemma-${randomUUID()}.tmp`
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL
  const handle = await held.open(temporary, flags, before === undefined ? 0o666 : 0o600)
  try {
    await using _ = handle
    await handle.writeFile(text)
    if (before !== undefined) await keepOwnerAndMode(handle, before)
    await handle.datasync()
    const state = stateOf(await handle.stat())
    await held.check()
    await moveIntoPlace(held, { temporary, location, before })
    return state
  } finally {
    await unlink(held.entry(temporary)).catch((error: unknown) => {
      if (!isErrno(error, "ENOENT")) throw error
    })
  }
}

async function keepOwnerAndMode(handle: FileHandle, before: Stats): Promise<void> {
  const now = await handle.stat()
  if (now.uid !== before.uid || now.gid !== before.gid) {
    // Only root may change the owner. For other users the new file belongs to them, as with any editor.
    const given = await handle.chown(before.uid, before.gid).then(
      () => true,
      () => false,
    )
    // If the owner changed, setuid and setgid bits are dropped, so that the file does not run as another user.
    if (!given) return handle.chmod(before.mode & 0o777)
  }
  await handle.chmod(before.mode & 0o7777)
}

async function moveIntoPlace(
  held: HeldDirectory,
  { temporary, location, before }: { temporary: string; location: ResolvedPath; before: Stats | undefined },
): Promise<void> {
  const changed = `${shownName(location.name)} was changed by somebody else meanwhile. Read it again, then call again.`
  const name = basename(location.path)
  const [from, to] = [held.entry(temporary), held.entry(name)]
  if (before !== undefined) {
    const now = await held.stats(name)
    if (now === undefined || now.ino !== before.ino || !isSame(stateOf(now), stateOf(before)))
      throw new Error(changed)
    return rename(from, to)
  }
  try {
    // Unlike a rename, a hard link never replaces a file that has appeared meanwhile.
    await link(from, to)
  } catch (error) {
    if (isErrno(error, "EEXIST")) throw new Error(changed, { cause: error })
    if (!isErrno(error, "EPERM", "ENOTSUP", "ENOSYS", "EMLINK")) throw error
    await rename(from, to)
  }
}

function isSame(a: FileState, b: FileState): boolean {
  return a.mtimeMs === b.mtimeMs && a.size === b.size
}
