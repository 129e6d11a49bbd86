/** The files that a session works on. */
export interface Workspace {
  /** The directory that relative paths start from: the session's directory, as a real path. */
  readonly directory: string
  /** The root of the workspace: the git work tree that contains the directory, or the directory itself. A real path. */
  readonly root: string
  /**
   * Resolves where a path really leads, through every symlink, also for a file that does not exist yet. A leading `~/`
   * is the user's home directory. As in the kernel, `..` after a symlink goes up from the symlink's target. Throws an
   * Error with a sentence for a path that cannot be resolved: a NUL, a circle of symlinks, a directory that may not be
   * searched.
   */
  resolve(path: string): Promise<ResolvedPath>
  /** Stemma's own directories, and files that are never shown to a model, that are at or below a real path. */
  ownBelow(path: string): string[]
}

export interface ResolvedPath {
  /** Absolute and real: no `..`, no symlink, spelled as on the disk. Use this path to open the file. */
  path: string
  /**
   * For people, rules and the model: relative to `directory` with `/` if inside `root`, else absolute. Never empty
   * (`.`).
   */
  name: string
  /**
   * Outside the root, so `external_directory` is needed. Also true for a path that only the kernel can follow, such as
   * a pipe in `/proc/self/fd`.
   */
  external: boolean
  /** The pattern for rules about `external_directory`: the parent directory and `/*`. */
  directoryPattern: string
  /**
   * Part of Stemma's config (`stemma.json`, `stemma.jsonc`, `.stemma/`), of `.git/`, or of Stemma's own directories, by
   * any spelling that some file system accepts for these.
   */
  guarded: boolean
  /**
   * Stemma's token or another file that is never shown to a model, by any link to it; or the environment of any
   * process.
   */
  forbidden: boolean
  exists: boolean
}

/** Snapshots of the workspace's files, stored apart from the user's own repository. */
export interface Snapshots {
  /** Why snapshots are unavailable, as a sentence; undefined if they are available. Known after the first `take`. */
  readonly unavailable: string | undefined
  /**
   * Takes a snapshot of the current files and returns its name for `diff` and `restore`. Returns undefined if snapshots
   * are unavailable. It rejects only with the reason of its signal.
   */
  take(signal?: AbortSignal): Promise<string | undefined>
  /** Files that differ between two snapshots, as paths relative to the root with `/`. */
  changed(from: string, to: string): Promise<string[]>
  /** The differences, with contents (empty for binary files and files over 1 MiB) and counted lines. */
  diff(from: string, to: string, files?: readonly string[]): Promise<FileDiffOf[]>
  /**
   * The differences between a commit of the workspace's own repository and the current files, with contents as in
   * `diff`. With `fork`, the differences to the commit that both commits descend from. Submodules, and files that
   * snapshots leave out, are not compared. At most 1,000 files, and at most about 16 Mi characters of contents. Undefined if
   * snapshots are unavailable.
   */
  since(commit: CommitOf): Promise<FileDiffOf[] | undefined>
  /**
   * Restores these files to their state in the snapshot: written, or removed if the snapshot did not have them. Each
   * file is then in one of the lists: `restored` and `removed` are as in the snapshot; `failed` stayed unchanged, such
   * as a file that the snapshot left out (too large, ignored) or a file behind a symlinked directory.
   */
  restore(
    snapshot: string,
    files: readonly string[],
  ): Promise<{ restored: string[]; removed: string[]; failed: string[] }>
}

/** A commit of a repository that is not ours. It is only read. */
export interface CommitOf {
  commit: string
  fork?: string
  /** The directory with the repository's objects. */
  objects: string
}

export interface FileDiffOf {
  file: string
  before: string
  after: string
  additions: number
  deletions: number
}
