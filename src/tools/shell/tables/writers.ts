import {
  type CommandEffects,
  commandEffects,
  edits,
  editsAnything,
  editsFromInput,
  reads,
} from "../analyse/command-effects.ts"
import { literalWord, type Word } from "../parse/script.ts"
import { curlEffects, wgetEffects } from "./downloads.ts"
import { hasOption, type OptionTable, readOptions, valuesOf } from "./options.ts"
import { hiddenIn } from "./readers.ts"
import { riskySuffixes, withSuffixes } from "./suffixes.ts"
import { ddEffects } from "./text-programs.ts"

type EffectsOf = (words: readonly Word[]) => CommandEffects

const here = literalWord(".")

/** Commands that change the files they name, and nothing else. */
const writers: Record<string, EffectsOf> = {
  rm: editEffects({ lenient: true }),
  rmdir: editEffects({ lenient: true }),
  unlink: editEffects({ lenient: true }),
  touch: editEffects({ lenient: true, valued: "drt" }, { reads: ["-r"] }),
  mkdir: editEffects({ lenient: true, valued: "m" }),
  mkfifo: editEffects({ lenient: true, valued: "m" }),
  tee: editEffects({ lenient: true }),
  truncate: editEffects({ lenient: true, valued: "sr" }, { reads: ["-r"] }),
  shred: editEffects({ lenient: true, valued: "ns", danger: { long: "random-source" } }),
  chmod: chmodEffects,
  chown: chmodEffects,
  chgrp: chmodEffects,
  cp: copyEffects({ moves: false }),
  install: copyEffects({ moves: false }),
  mv: copyEffects({ moves: true }),
  ln: linkEffects,
  dd: ddEffects,
  gzip: packEffects({ lenient: true, valued: "S", danger: { short: "N", long: "name suffix" } }),
  gunzip: packEffects({ lenient: true, valued: "S", danger: { short: "N", long: "name suffix" } }),
  bzip2: packEffects({ lenient: true }),
  bunzip2: packEffects({ lenient: true }),
  xz: packEffects({ lenient: true, valued: "TSFCM", danger: { long: "files files0 suffix" } }),
  unxz: packEffects({ lenient: true, valued: "TSFCM", danger: { long: "files files0 suffix" } }),
  zip: packEffects({
    lenient: true,
    danger: { short: "T@bO", long: "unzip-command names-stdin out temp-path" },
  }),
  unzip: unzipEffects,
  tar: tarEffects,
  rsync: rsyncEffects,
  patch: patchEffects,
  split: splitEffects,
  csplit: splitEffects,
  curl: curlEffects,
  wget: wgetEffects,
}

export const writerNames: ReadonlySet<string> = new Set(Object.keys(writers))

export function writerEffects(name: string, words: readonly Word[]): CommandEffects | undefined {
  return Object.hasOwn(writers, name) ? writers[name]!(words) : undefined
}

function editEffects(table: OptionTable, more: { reads?: string[] } = {}): EffectsOf {
  return (words) => {
    const options = readOptions(words, table)
    const recursive = hasOption(options, "-r", "-R", "--recursive")
    const sources = valuesOf(options, ...(more.reads ?? []))
    return commandEffects("writes", {
      files: [...edits([...options.operands, ...options.attached], { recursive }), ...reads(sources)],
      ...hiddenIn("The option", options.dangerous),
    })
  }
}

/**
 * Each file is read and replaced by a file with another name: the same name with a suffix removed, added or changed.
 */
function packEffects(table: OptionTable): EffectsOf {
  return (words) => {
    const options = readOptions(words, table)
    const recursive = hasOption(options, "-r", "-R", "--recursive")
    const files = [...options.operands, ...options.attached]
    const suffixes = valuesOf(options, "-S")
    const unpacked = files.flatMap((word) =>
      word.value === undefined ? [] : [literalWord(word.value.replace(/\.t?\w+$/, ""))],
    )
    const unsure = suffixes.filter((word) => word.value === undefined || /[*/]/.test(word.value))
    const endings = suffixes.flatMap((word) => word.value ?? [])
    return commandEffects("writes", {
      files: [
        ...edits(
          [...files, ...unpacked.filter((word) => word.value !== ""), ...withSuffixes(files, endings)],
          {
            recursive,
          },
        ),
        ...reads(files, { recursive, follows: recursive }),
      ],
      ...hiddenIn("The option", [
        ...options.dangerous,
        ...unsure.map((word) => word.source),
        ...riskySuffixes(endings, files),
      ]),
    })
  }
}

/** chmod 755 file */
function chmodEffects(words: readonly Word[]): CommandEffects {
  const options = readOptions(words, { lenient: true })
  const referenced = options.given.some((one) => one.name.startsWith("--ref"))
  const recursive = hasOption(options, "-R", "--recursive")
  // `chmod -x file`: the mode looks like an option.
  const mode = words.find((word) => /^-[rwxXst]+$/.test(word.value ?? ""))
  const skip = referenced || mode ? 0 : 1
  return commandEffects("writes", {
    files: [...edits(options.operands.slice(skip), { recursive }), ...reads(options.attached)],
  })
}

const copyTable: OptionTable = {
  short: "abdfHilLnPpRrsTuvxZDcCg",
  valued: "tSmog",
  long: "archive force interactive no-clobber link symbolic-link recursive update verbose dereference no-dereference no-target-directory parents strip-trailing-slashes one-file-system remove-destination preserve backup sparse reflink attributes-only",
  longValued: "target-directory suffix mode owner group",
}

function copyEffects({ moves }: { moves: boolean }): EffectsOf {
  return (words) => {
    const options = readOptions(words, copyTable)
    const targets = valuesOf(options, "-t", "--target-directory")
    const suffixes = valuesOf(options, "-S", "--suffix")
    const recursive = moves || hasOption(options, "-r", "-R", "-a", "--recursive", "--archive")
    const follows = hasOption(options, "-L", "-H", "--dereference")
    const tree = { recursive, follows, spreads: recursive }
    const unsure = options.unknown.length > 0 || options.operands.some((word) => word.splits && !word.glob)
    const sources = unsure || targets.length > 0 ? options.operands : options.operands.slice(0, -1)
    const into = unsure
      ? [...options.operands, ...targets, ...options.attached]
      : targets.length > 0
        ? targets
        : options.operands.slice(-1)
    return commandEffects("writes", {
      files: [
        ...reads(sources, tree),
        ...(moves ? edits(sources, { recursive }) : []),
        ...edits(into, { recursive: !moves && recursive, into: sources }),
        ...(hasOption(options, "-T", "--no-target-directory") && !moves ? edits(into, { recursive }) : []),
        ...edits(
          withSuffixes(
            into,
            suffixes.flatMap((word) => word.value ?? []),
          ),
        ),
      ],
      ...hiddenIn("The option", backupsIn(suffixes, into)),
    })
  }
}

/**
 * Replaced files are kept under their names and a suffix. The names of files in a directory are not known in advance.
 */
function backupsIn(suffixes: readonly Word[], into: readonly Word[]): string[] {
  const unknown = suffixes.filter((word) => word.value === undefined).map((word) => word.source)
  const inside = into.map((word) => ({ ...word, below: true }))
  return [
    ...unknown,
    ...riskySuffixes(
      suffixes.flatMap((word) => word.value ?? []),
      inside,
    ),
  ]
}

/**
 * A symlink's target can be written through it, so the target counts as edited too, resolved from the location of the
 * new link.
 */
function linkEffects(words: readonly Word[]): CommandEffects {
  const options = readOptions(words, copyTable)
  const targets = valuesOf(options, "-t", "--target-directory")
  const link = targets[0] ?? options.operands.at(-1)
  const sources = targets.length > 0 ? options.operands : options.operands.slice(0, -1)
  const fromLink = sources.flatMap((source) => {
    if (link?.value === undefined || source.value === undefined || source.value.startsWith("/")) return []
    return ["", "/.."].map((up) => literalWord(`${link.home ? "~" : ""}${link.value}${up}/${source.value}`))
  })
  return commandEffects("writes", {
    files: [
      ...edits([...options.operands, ...targets, ...options.attached], { into: sources }),
      ...edits(fromLink),
      ...reads([...sources, ...fromLink], { recursive: true }),
    ],
    ...hiddenIn("The option", backupsIn(valuesOf(options, "-S", "--suffix"), options.operands)),
  })
}

function unzipEffects(words: readonly Word[]): CommandEffects {
  const options = readOptions(words, { short: "lvtZpqnoujaCLX", valued: "dxP" })
  const [archive] = options.operands
  const into = valuesOf(options, "-d")
  const listing = hasOption(options, "-l", "-v", "-t", "-Z", "-p")
  return commandEffects(listing && options.unknown.length === 0 ? "reads" : "writes", {
    files: [
      ...reads(archive ? [archive] : []),
      ...(listing ? [] : edits(into.length > 0 ? into : [here], { recursive: true, fromInput: true })),
    ],
  })
}

const tarDanger =
  "to-command use-compress-program checkpoint-action info-script new-volume-script rsh-command rmt-command index-file"

function tarEffects(words: readonly Word[]): CommandEffects {
  const [first, ...rest] = words
  const bundled = first?.value !== undefined && /^[A-Za-z]+$/.test(first.value)
  // Without a dash, letters take their values from the following words, in order.
  const spelled = bundled ? [literalWord(`-${tarLetters(first.value!)}`), ...rest] : words
  const options = readOptions(spelled, {
    short: "cxtruAdvzjJaZpPkmOShlWwUB",
    valued: "fCTXbHgKNV",
    long: "create extract list append update concatenate diff verbose gzip bzip2 xz zstd auto-compress overwrite no-same-owner no-same-permissions wildcards anchored",
    longValued: "file directory files-from exclude-from exclude strip-components transform mode owner group",
    danger: { short: "IF", long: tarDanger },
  })
  const extracting = hasOption(options, "-x", "--extract", "--get")
  const listing = hasOption(options, "-t", "--list")
  const archives = valuesOf(options, "-f", "--file")
  const directories = valuesOf(options, "-C", "--directory")
  const lists = valuesOf(options, "-T", "--files-from", "-X", "--exclude-from")
  const files = [
    ...reads([...lists, ...options.attached]),
    ...directories.map((word) => ({ access: "directory" as const, word })),
  ]
  const ssh = archives.filter((word) => /^[^/]*:/.test(word.value ?? "")).map((word) => word.source)
  const hidden = hiddenIn("tar", [...options.dangerous, ...options.unknown, ...ssh])
  if (listing) return commandEffects("reads", { files: [...files, ...reads(archives)], ...hidden })
  if (extracting) {
    const into = directories.length > 0 ? directories : [here]
    const absolute = hasOption(options, "-P", "--absolute-names") ? [editsAnything] : []
    return commandEffects("writes", {
      files: [
        ...files,
        ...reads(archives),
        ...edits(into, { recursive: true, fromInput: true }),
        ...absolute,
      ],
      ...hidden,
    })
  }
  return commandEffects("writes", {
    files: [
      ...files,
      ...edits(archives),
      ...reads(options.operands, { recursive: true, follows: hasOption(options, "-h") }),
    ],
    ...hidden,
  })
}

/** Moves the letter `f` to the end, where its value is expected. */
function tarLetters(letters: string): string {
  return letters.includes("f") ? `${letters.replace("f", "")}f` : letters
}

function rsyncEffects(words: readonly Word[]): CommandEffects {
  const options = readOptions(words, {
    short: "avzrlptgoDnuhPiqcHAXSxRbkKLmWdIE0",
    valued: "fBT",
    long: "archive verbose compress recursive dry-run delete progress stats human-readable checksum update ignore-existing existing inplace partial delete-after delete-excluded itemize-changes links perms times",
    longValued: "exclude include exclude-from include-from filter bwlimit max-size min-size timeout",
    danger: { short: "eM", long: "rsh rsync-path remote-option daemon config" },
  })
  const remote = options.operands
    .filter((word) => /^[^/]*:/.test(word.value ?? ""))
    .map((word) => word.source)
  return commandEffects("writes", {
    files: [
      ...reads(options.operands.slice(0, -1), {
        recursive: true,
        spreads: true,
        follows: hasOption(options, "-L", "-k"),
      }),
      ...edits(options.operands.slice(-1), { recursive: true }),
      ...edits(options.attached),
    ],
    ...hiddenIn("rsync", [...options.dangerous, ...options.unknown, ...remote]),
  })
}

/** The names of the files that a patch changes are in the patch. */
function patchEffects(words: readonly Word[]): CommandEffects {
  const options = readOptions(words, {
    lenient: true,
    valued: "pidoFDrBVYz",
    longValued: "input output directory strip",
  })
  const directories = valuesOf(options, "-d", "--directory")
  return commandEffects("writes", {
    files: [
      editsFromInput,
      ...reads([...valuesOf(options, "-i", "--input"), ...options.operands]),
      ...edits([...valuesOf(options, "-o", "--output", "-r"), ...options.operands, ...options.attached]),
      ...directories.map((word) => ({ access: "directory" as const, word })),
    ],
  })
}

function splitEffects(words: readonly Word[]): CommandEffects {
  const options = readOptions(words, { lenient: true, valued: "abClnfkst", danger: { long: "filter" } })
  return commandEffects("writes", {
    files: [...reads(options.operands.slice(0, 1)), ...edits(options.operands.slice(1)), editsFromInput],
    ...hiddenIn("split", options.dangerous),
  })
}
