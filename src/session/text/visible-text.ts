/** Scripts in which a zero-width joiner changes how a word is written. */
const joining =
  "[\\p{scx=Arab}\\p{scx=Syrc}\\p{scx=Mong}\\p{scx=Deva}\\p{scx=Beng}\\p{scx=Guru}\\p{scx=Gujr}\\p{scx=Orya}" +
  "\\p{scx=Taml}\\p{scx=Telu}\\p{scx=Knda}\\p{scx=Mlym}\\p{scx=Sinh}\\p{scx=Khmr}\\p{scx=Mymr}\\p{scx=Tibt}]"

/** Invisible characters that are part of a visible one: in emoji, flags and words of joining scripts. */
const keptInvisible = [
  "(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}]\\ufe0f?)\\u200d(?=\\p{Extended_Pictographic})",
  "(?<=\\p{Emoji})[\\ufe0e\\ufe0f]",
  "(?<=\\u{1f3f4})[\\u{e0030}-\\u{e0039}\\u{e0061}-\\u{e007a}]{2,6}\\u{e007f}",
  `(?<=${joining})[\\u200c\\u200d](?=${joining})`,
].join("|")

/**
 * Control characters, characters that change the text direction, and others without a shape. White space is not
 * included.
 */
const invisible = "[\\p{Default_Ignorable_Code_Point}\\ufff9-\\ufffb]|(?![\\t-\\r\\u0085])\\p{Cc}"

/** A terminal escape sequence: `ESC [` up to its final letter, or `ESC ]` up to a bell or `ESC \`. */
const escapeSequence = "\\u001b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\))"

/** Most texts match this, and then the large expressions below are never compiled. */
const isPlain = /^[\t\n\v\f\r -~]*$/

let expressions: { escapes: RegExp; keptOrInvisible: RegExp } | undefined

function compiled() {
  expressions ??= {
    escapes: new RegExp(escapeSequence, "g"),
    keptOrInvisible: new RegExp(`(${keptInvisible})|${invisible}`, "gu"),
  }
  return expressions
}

/** The text without escape sequences, control characters and invisible format characters. White space stays. */
export function visibleText(text: string): string {
  return isPlain.test(text) ? text : replaceUnseen(text.replace(compiled().escapes, ""), () => "")
}

/** Replaces each invisible character that is not part of a visible one. */
export function replaceUnseen(text: string, replacement: (character: string) => string): string {
  if (isPlain.test(text)) return text
  return text.replace(
    compiled().keptOrInvisible,
    (found, kept: string | undefined) => kept ?? replacement(found),
  )
}

/** The visible text on one line: each run of white space becomes one space, with none at the ends. */
export function visibleLine(text: string): string {
  return visibleText(text)
    .replace(/[\s\u0085]+/g, " ")
    .trim()
}
