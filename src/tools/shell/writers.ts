import { hasOption, type OptionTable, readOptions, valuesOf } from "./options.ts"
import { hiddenIn } from "./readers.ts"
import { literalWord, type Word } from "./script.ts"
import { judgeDd } from "./text-programs.ts"
import { edits, editsAnything, reads, type Verdict, verdict } from "./verdict.ts"

type Judge = (words: readonly Word[]) => Verdict

const here = literalWord(".")

/** Commands that change the files they are given, and nothing else. */
const writers: Record<string, Judge> = {
  rm: editsAll({ lenient: true }),
  rmdir: editsAll({ lenient: true }),
  unlink: editsAll({ lenient: true }),
  touch: editsAll({ lenient: true, valued: "drt" }, { reads: ["-r"] }),
  mkdir: editsAll({ lenient: true, valued: "m" }),
  mkfifo: editsAll({ lenient: true, valued: "m" }),
  tee: editsAll({ lenient: true }),
  truncate: editsAll({ lenient: true, valued: "sr" }, { reads: ["-r"] }),
  shred: editsAll({ lenient: true, valued: "ns", danger: { long: "random-source" } }),
  chmod: afterFirst,
  chown: afterFirst,
  chgrp: afterFirst,
  cp: copies({ moves: false }),
  install: copies({ moves: false }),
  mv: copies({ moves: true }),
  ln: judgeLink,
  dd: judgeDd,
  gzip: editsAll({ lenient: true, valued: "S" }),
  gunzip: editsAll({ lenient: true, valued: "S" }),
  bzip2: editsAll({ lenient: true }),
  bunzip2: editsAll({ lenient: true }),
  xz: editsAll({ lenient: true, valued: "T" }),
  unxz: editsAll({ lenient: true }),
  zip: editsAll({ lenient: true, danger: { short: "T", long: "unzip-command" } }),
  unzip: judgeUnzip,
  tar: judgeTar,
  rsync: judgeRsync,
  patch: judgePatch,
  split: splits,
  csplit: splits,
  curl: judgeCurl,
  wget: judgeWget,
}

export const writerNames: ReadonlySet<string> = new Set(Object.keys(writers))

export function judgeWriter(name: string, words: readonly Word[]): Verdict | undefined {
  return Object.hasOwn(writers, name) ? writers[name]!(words) : undefined
}

function editsAll(table: OptionTable, more: { reads?: string[] } = {}): Judge {
  return (words) => {
    const options = readOptions(words, table)
    const recursive = hasOption(options, "-r", "-R", "--recursive")
    const sources = valuesOf(options, ...(more.reads ?? []))
    return verdict("writes", {
      files: [...edits([...options.operands, ...options.attached], { recursive }), ...reads(sources)],
      ...hiddenIn("The option", options.dangerous),
    })
  }
}

/** chmod 755 file */
function afterFirst(words: readonly Word[]): Verdict {
  const options = readOptions(words, { lenient: true })
  const referenced = options.given.some((one) => one.name.startsWith("--ref"))
  const recursive = hasOption(options, "-R", "--recursive")
  // `chmod -x file`: the mode looks like an option.
  const mode = words.find((word) => /^-[rwxXst]+$/.test(word.value ?? ""))
  const skip = referenced || mode ? 0 : 1
  return verdict("writes", {
    files: [...edits(options.operands.slice(skip), { recursive }), ...reads(options.attached)],
  })
}

const copyTable: OptionTable = {
  short: "abdfHilLnPpRrsTuvxZDcCg",
  valued: "tSmog",
  long: "archive force interactive no-clobber link symbolic-link recursive update verbose dereference no-dereference no-target-directory parents strip-trailing-slashes one-file-system remove-destination preserve backup sparse reflink attributes-only",
  longValued: "target-directory suffix mode owner group",
}

function copies({ moves }: { moves: boolean }): Judge {
  return (words) => {
    const options = readOptions(words, copyTable)
    const targets = valuesOf(options, "-t", "--target-directory")
    const recursive = moves || hasOption(options, "-r", "-R", "-a", "--recursive", "--archive")
    if (options.strange.length > 0 || options.operands.some((word) => word.splits && !word.glob)) {
      return verdict("writes", {
        files: edits([...options.operands, ...targets, ...options.attached], {
          recursive,
          into: options.operands,
        }),
      })
    }
    const sources = targets.length > 0 ? options.operands : options.operands.slice(0, -1)
    const into = targets.length > 0 ? targets : options.operands.slice(-1)
    const taken = moves ? edits(sources, { recursive }) : reads(sources, { recursive })
    return verdict("writes", { files: [...taken, ...edits(into, { into: [...sources] })] })
  }
}

/** Through a link its target can be written to, so the target counts as edited too, from where the link will be. */
function judgeLink(words: readonly Word[]): Verdict {
  const options = readOptions(words, copyTable)
  const targets = valuesOf(options, "-t", "--target-directory")
  const link = targets[0] ?? options.operands.at(-1)
  const sources = targets.length > 0 ? options.operands : options.operands.slice(0, -1)
  const fromLink = sources.flatMap((source) => {
    if (link?.value === undefined || source.value === undefined || source.value.startsWith("/")) return []
    return ["", "/.."].map((up) => literalWord(`${link.home ? "~" : ""}${link.value}${up}/${source.value}`))
  })
  return verdict("writes", {
    files: [...edits([...options.operands, ...targets, ...options.attached]), ...edits(fromLink)],
  })
}

function judgeUnzip(words: readonly Word[]): Verdict {
  const options = readOptions(words, { short: "lvtZpqnoujaCLX", valued: "dxP" })
  const [archive] = options.operands
  const into = valuesOf(options, "-d")
  const listing = hasOption(options, "-l", "-v", "-t", "-Z", "-p")
  return verdict(listing && options.strange.length === 0 ? "reads" : "writes", {
    files: [
      ...reads(archive ? [archive] : []),
      ...(listing ? [] : edits(into.length > 0 ? into : [here], { recursive: true })),
    ],
  })
}

const tarDanger =
  "to-command use-compress-program checkpoint-action info-script new-volume-script rsh-command rmt-command index-file"

function judgeTar(words: readonly Word[]): Verdict {
  const [first, ...rest] = words
  const bundled = first?.value !== undefined && /^[A-Za-z]+$/.test(first.value)
  // Without a dash, letters take their values from the words that follow, in turn.
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
  const hidden = hiddenIn("tar", [...options.dangerous, ...options.strange, ...ssh])
  if (listing) return verdict("reads", { files: [...files, ...reads(archives)], ...hidden })
  if (extracting) {
    const into = directories.length > 0 ? directories : [here]
    const absolute = hasOption(options, "-P", "--absolute-names") ? [editsAnything] : []
    return verdict("writes", {
      files: [...files, ...reads(archives), ...edits(into, { recursive: true }), ...absolute],
      ...hidden,
    })
  }
  return verdict("writes", {
    files: [...files, ...edits(archives), ...reads(options.operands, { recursive: true })],
    ...hidden,
  })
}

/** Puts the letter `f` last, where its value is expected. */
function tarLetters(letters: string): string {
  return letters.includes("f") ? `${letters.replace("f", "")}f` : letters
}

function judgeRsync(words: readonly Word[]): Verdict {
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
  return verdict("writes", {
    files: [
      ...reads(options.operands.slice(0, -1), { recursive: true }),
      ...edits(options.operands.slice(-1), { recursive: true }),
      ...edits(options.attached),
    ],
    ...hiddenIn("rsync", [...options.dangerous, ...options.strange, ...remote]),
  })
}

/** Which files a patch changes stands in the patch. */
function judgePatch(words: readonly Word[]): Verdict {
  const options = readOptions(words, {
    lenient: true,
    valued: "pidoFDrBVYz",
    longValued: "input output directory strip",
  })
  const directories = valuesOf(options, "-d", "--directory")
  return verdict("writes", {
    files: [
      editsAnything,
      ...reads(valuesOf(options, "-i", "--input")),
      ...edits([...valuesOf(options, "-o", "--output", "-r"), ...options.operands, ...options.attached]),
      ...directories.map((word) => ({ access: "directory" as const, word })),
    ],
  })
}

function splits(words: readonly Word[]): Verdict {
  const options = readOptions(words, { lenient: true, valued: "abClnfkst", danger: { long: "filter" } })
  return verdict("writes", {
    files: [...reads(options.operands.slice(0, 1)), ...edits(options.operands.slice(1)), editsAnything],
    ...hiddenIn("split", options.dangerous),
  })
}

const curlTable: OptionTable = {
  short: "sSfLkvIgiNGO#0123463ajlnpqRJZ",
  valued: "oHXdAebcKTuxmFrwyYzCDEtPQUh",
  long: "silent show-error fail location insecure verbose head include compressed get remote-name fail-with-body no-progress-meter http1.1 http2",
  longValued:
    "output header request data data-raw data-binary data-urlencode json user-agent user max-time connect-timeout retry url referer form form-string output-dir cookie cookie-jar upload-file write-out cert key cacert proxy",
  danger: { short: "K", long: "config engine libcurl" },
}

/** Also a way out: what it sends may be read from files. */
function judgeCurl(words: readonly Word[]): Verdict {
  const options = readOptions(words, curlTable)
  const written = valuesOf(options, "-o", "--output", "--output-dir", "-c", "--cookie-jar", "-D")
  const sent = valuesOf(
    options,
    "-d",
    "--data",
    "--data-binary",
    "--data-urlencode",
    "-F",
    "--form",
    "-H",
    "--header",
    "--json",
  )
    .filter((word) => word.value === undefined || /(?:^|=)[@<]/.test(word.value))
    .map((word) => pathAfter(word, /^[^@<]*[@<]/))
  const files = valuesOf(
    options,
    "-T",
    "--upload-file",
    "--key",
    "--cert",
    "-E",
    "--cacert",
    "-b",
    "--cookie",
  )
  const local = options.operands
    .filter((word) => /^file:/i.test(word.value ?? ""))
    .map((word) => pathAfter(word, /^file:(?:\/\/[^/]*)?/i))
  return verdict("writes", {
    files: [
      ...edits(written),
      ...(hasOption(options, "-O", "--remote-name", "-J") ? edits([here]) : []),
      ...reads([...sent, ...files, ...local, ...options.attached]),
    ],
    ...hiddenIn("curl", [...options.dangerous, ...options.strange]),
  })
}

function pathAfter(word: Word, start: RegExp): Word {
  return word.value === undefined ? word : literalWord(word.value.replace(start, ""))
}

function judgeWget(words: readonly Word[]): Verdict {
  const options = readOptions(words, {
    short: "qvcNSrkpxnHdEKmLb",
    valued: "OoaPitTUQlAReB",
    long: "quiet verbose continue no-verbose recursive no-check-certificate server-response spider",
    longValued:
      "output-document output-file append-output directory-prefix input-file timeout tries user-agent header post-data post-file body-file",
    danger: { short: "e", long: "execute use-askpass config" },
  })
  const written = valuesOf(
    options,
    "-O",
    "--output-document",
    "-o",
    "--output-file",
    "-a",
    "--append-output",
    "-P",
    "--directory-prefix",
  )
  const named = valuesOf(options, "-O", "--output-document", "-P", "--directory-prefix").length > 0
  return verdict("writes", {
    files: [
      ...edits(written),
      ...(named ? [] : edits([here])),
      ...reads([
        ...valuesOf(options, "-i", "--input-file", "--post-file", "--body-file"),
        ...options.attached,
      ]),
    ],
    ...hiddenIn("wget", [...options.dangerous, ...options.strange]),
  })
}
