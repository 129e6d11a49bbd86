/** The files that a session works on. */
export interface Workspace {
  /** Where relative paths begin: the session's directory, as a real path. */
  readonly directory: string
  /** What counts as inside: the git work tree that holds the directory, or the directory itself. A real path. */
  readonly root: string
  /**
   * Finds out where a path really leads, through every symlink, also for a file that does not exist yet. A leading `~/` is
   * the user's home; `..` after a symlink goes up from where that leads, as it does for the kernel. Throws an Error with a
   * sentence for a path that leads nowhere: a NUL, a circle of symlinks, a directory that may not be searched.
   */
  resolve(path: string): Promise<Place>
  /** Stemma's own directories, and files that are never shown to a model, that are below a real path or are at it. */
  ownBelow(path: string): string[]
}

export interface Place {
  /** Absolute and real: no `..`, no symlink in it, spelled as on the disk. Use this one to open the file. */
  path: string
  /** For people, rules and the model: relative to `directory` with `/` if inside `root`, else absolute. Never empty (`.`). */
  name: string
  /** Outside the root: needs `external_directory`. So is what only the kernel can follow, such as a pipe in `/proc/self/fd`. */
  external: boolean
  /** What rules for `external_directory` are matched with: the directory that holds it and `/*`. */
  directoryPattern: string
  /**
   * Part of Stemma's config (`stemma.json`, `stemma.jsonc`, `.stemma/`), of `.git/`, or of Stemma's own directories, by any
   * name that some file system takes for these.
   */
  guarded: boolean
  /** Stemma's token or another file that is never shown to a model, by any link to it; the environment of any process. */
  forbidden: boolean
  exists: boolean
}

/** Snapshots of the workspace's files, kept apart from the user's own repository. */
export interface Snapshots {
  /** Why there are none, as a sentence; undefined if there are. Known after the first `take`. */
  readonly unavailable: string | undefined
  /**
   * The files as they are now, as a name for `diff` and `restore`. Undefined if there are no snapshots: it never fails
   * otherwise, but for the reason of its signal.
   */
  take(signal?: AbortSignal): Promise<string | undefined>
  /** Files that differ between two snapshots, as paths relative to the root with `/`. */
  changed(from: string, to: string): Promise<string[]>
  /** What differs, with contents (empty for binary files and those over 1 MiB) and counted lines. */
  diff(from: string, to: string, files?: readonly string[]): Promise<FileDiffOf[]>
  /**
   * Brings these files back to what they were in the snapshot: written, or removed where it had none. Each is then in one
   * of the lists: `restored` and `removed` are as in the snapshot; `failed` stayed as it was, such as a file that the
   * snapshot left out (too large, ignored) or one behind a symlinked directory.
   */
  restore(
    snapshot: string,
    files: readonly string[],
  ): Promise<{ restored: string[]; removed: string[]; failed: string[] }>
}

export interface FileDiffOf {
  file: string
  before: string
  after: string
  additions: number
  deletions: number
}
