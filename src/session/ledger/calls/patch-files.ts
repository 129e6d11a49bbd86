/** The files that a text changes and removes. */
export interface FileChanges {
  changed: string[]
  removed: string[]
}

const patchLengthMax = 20_000
const patchLine =
  /^(?:\*\*\* (Add|Update|Delete) File: |\*\*\* Move to: |(--- |\+\+\+ )(?:[ab]\/)?|rename to )([^\n\t\r]{1,300})(?=[\t\r]|$)/gm

/** The files that a patch names, in the formats that git and coding agents write. */
export function patchFiles(text: string): FileChanges {
  const changed = new Set<string>()
  const removed = new Set<string>()
  let old: string | undefined
  for (const [, verb, side, named] of text.slice(0, patchLengthMax).matchAll(patchLine)) {
    const path = named!.trim()
    if (path === "" || /^-+$/.test(path)) continue
    if (side === "--- ") old = path
    else if (side === "+++ " && path === "/dev/null") {
      if (old !== undefined) removed.add(old)
    } else if (verb === "Delete") removed.add(path)
    else changed.add(path)
  }
  return { changed: [...changed], removed: [...removed] }
}
