import {
  type CommandEffects,
  commandEffects,
  edits,
  editsFromInput,
  type FileUse,
  reads,
} from "../analyse/command-effects.ts"
import { literalWord, type Word } from "../parse/script.ts"
import { hasOption, type OptionTable, readOptions, valuesOf } from "./options.ts"
import { hiddenIn } from "./readers.ts"

const here = literalWord(".")

const curlTable: OptionTable = {
  short: "sSfLkvIgiNGO0123463ajlnpqRJZ",
  valued: "oHXdAebcKTuxmFrwyYzCDEtPQUh",
  long: "silent show-error fail location insecure verbose head include compressed get remote-name fail-with-body no-progress-meter http1.1 http2 globoff",
  longValued:
    "output header request data data-raw data-binary data-urlencode json user-agent user max-time connect-timeout retry url referer form form-string output-dir cookie cookie-jar upload-file write-out cert key cacert proxy",
  danger: { short: "K", long: "config engine libcurl" },
}

/** curl can also send data: files that it uploads are read. */
export function curlEffects(words: readonly Word[]): CommandEffects {
  const options = readOptions(words, curlTable)
  const values = (...names: string[]) => valuesOf(options, ...names)
  const urls = [...options.operands, ...values("--url")]
  const outputs = values("-o", "--output")
  const directories = values("--output-dir")
  const forms = values("-F", "--form")
  const uploads = values("-T", "--upload-file")
  const globbing = !hasOption(options, "-g", "--globoff")
  const named = hasOption(options, "-O", "--remote-name")
  const written = [...outputs, ...(named ? urls.map(lastOf) : [])]
  const unclear = [
    ...urls.filter((word) => !isPlainUrl(word) || (globbing && /[{}[\]]/.test(word.value ?? ""))),
    ...outputs.filter((word) => /#/.test(word.value ?? "")),
    ...uploads.filter((word) => /[{}[\]]/.test(word.value ?? "")),
    ...forms.filter((word) => /[@<]/.test(word.value ?? "") && /[";,\\(]/.test(word.value ?? "")),
    ...values("-w", "--write-out").filter((word) => !/^(?!@)(?!.*%output)/s.test(word.value ?? "@")),
  ]
  return commandEffects("writes", {
    files: [
      ...(directories.length > 0 ? edits(directories, { into: written }) : edits(written)),
      ...edits(values("-c", "--cookie-jar", "-D")),
      ...(hasOption(options, "-J") ? [editsFromInput] : []),
      ...reads(sentFiles(values, forms)),
      ...reads([...uploads, ...values("--key", "--cert", "-E", "--cacert", "-b", "--cookie")]),
      ...reads([...urls.flatMap(localFile), ...options.attached], { recursive: true }),
    ],
    ...hiddenIn("curl", [...options.dangerous, ...options.unknown, ...unclear.map((word) => word.source)]),
  })
}

/** `-d @file`, `--data-urlencode name@file`, `-F name=@file`, `-H @file`. */
function sentFiles(values: (...names: string[]) => Word[], forms: readonly Word[]): Word[] {
  const after = (words: readonly Word[], start: RegExp) =>
    words.filter((word) => word.value === undefined || start.test(word.value)).map((word) => cut(word, start))
  return [
    ...after(values("-d", "--data", "--data-binary", "--json", "-H", "--header"), /^@/),
    ...after(values("--data-urlencode"), /^[^=@]*@/),
    ...after(forms, /^[^=]*=[@<]/),
  ]
}

/** A URL that curl and this code certainly parse alike. */
function isPlainUrl(word: Word): boolean {
  if (word.value === undefined) return /^https?:\/\/[\w.-]+[/:?]/.test(word.prefix) && !word.splits
  return /^(?:(?:https?|ftps?):\/\/|file:)[!-~]*$|^(?!file)[\w-]+(?:\.[\w-]+)*(?::\d+)?(?:[/?#][!-~]*)?$/i.test(
    word.value,
  )
}

function localFile(word: Word): Word[] {
  if (!/^file:/i.test(word.value ?? "")) return []
  const path = word.value!.replace(/^file:(?:\/\/[^/]*)?/i, "").replace(/[?#].*$/s, "")
  return [path, decoded(path)].map((one) => literalWord(one))
}

/** The file name of a download: the last part of the URL. */
function lastOf(url: Word): Word {
  if (url.value === undefined) return { ...url, prefix: "", splits: true }
  const path = url.value.replace(/^[a-z]+:\/\//i, "").replace(/[?#].*$/s, "")
  return literalWord(path.slice(path.lastIndexOf("/") + 1) || ".")
}

function decoded(text: string): string {
  return text.replaceAll(/%([0-9a-f]{2})/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
}

function cut(word: Word, start: RegExp): Word {
  return word.value === undefined ? word : literalWord(word.value.replace(start, ""))
}

export function wgetEffects(words: readonly Word[]): CommandEffects {
  const options = readOptions(words, {
    short: "qvcNSrkpxnHdEKmLb",
    valued: "OoaPitTUQlAReB",
    long: "quiet verbose continue no-verbose recursive no-check-certificate server-response spider",
    longValued:
      "output-document output-file append-output directory-prefix input-file timeout tries user-agent header post-data post-file body-file",
    danger: { short: "e", long: "execute use-askpass config" },
  })
  const logs = valuesOf(options, "-o", "--output-file", "-a", "--append-output")
  const documents = valuesOf(options, "-O", "--output-document")
  const lists = valuesOf(options, "-i", "--input-file")
  const many = lists.length > 0 || hasOption(options, "-r", "-m", "-p", "-x", "--recursive")
  const into = options.operands.flatMap((word) => {
    const name = lastOf(word)
    return name.value === undefined ? [name] : [name, literalWord(decoded(name.value))]
  })
  const prefixes = valuesOf(options, "-P", "--directory-prefix")
  const kept: FileUse[] =
    documents.length > 0 ? edits(documents) : edits(prefixes.length > 0 ? prefixes : [here], { into })
  return commandEffects("writes", {
    files: [
      ...edits(logs),
      ...kept,
      ...(many ? [editsFromInput] : []),
      ...reads([...lists, ...valuesOf(options, "--post-file", "--body-file"), ...options.attached]),
    ],
    ...hiddenIn("wget", [...options.dangerous, ...options.unknown]),
  })
}
