/** Scripts in which a joiner changes how a word is written. */
const joining =
  "[\\p{scx=Arab}\\p{scx=Syrc}\\p{scx=Mong}\\p{scx=Deva}\\p{scx=Beng}\\p{scx=Guru}\\p{scx=Gujr}\\p{scx=Orya}" +
  "\\p{scx=Taml}\\p{scx=Telu}\\p{scx=Knda}\\p{scx=Mlym}\\p{scx=Sinh}\\p{scx=Khmr}\\p{scx=Mymr}\\p{scx=Tibt}]"

/** Characters that cannot be seen and are yet part of one that can: in emoji, flags and words. */
const needed = [
  "(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}]\\ufe0f?)\\u200d(?=\\p{Extended_Pictographic})",
  "(?<=\\p{Emoji})[\\ufe0e\\ufe0f]",
  "(?<=\\u{1f3f4})[\\u{e0030}-\\u{e0039}\\u{e0061}-\\u{e007a}]{2,6}\\u{e007f}",
  `(?<=${joining})[\\u200c\\u200d](?=${joining})`,
].join("|")

/** Control characters, those that turn the direction of text, and others without a shape; white space is none of them. */
const unseen = "[\\p{Default_Ignorable_Code_Point}\\ufff9-\\ufffb]|(?![\\t-\\r\\u0085])\\p{Cc}"

/** What a terminal takes for a command: `ESC [` up to its letter, `ESC ]` up to a bell or `ESC \`. */
const escapeSequence = "\\u001b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\))"

/** Most texts hold nothing else, and whoever shows none of the others need not pay for the large expressions. */
const isPlain = /^[\t\n\v\f\r -~]*$/

let expressions: { escapes: RegExp; neededOrUnseen: RegExp } | undefined

function compiled() {
  expressions ??= {
    escapes: new RegExp(escapeSequence, "g"),
    neededOrUnseen: new RegExp(`(${needed})|${unseen}`, "gu"),
  }
  return expressions
}

/** The text without what people cannot see: commands to a terminal, control and format characters. White space stays. */
export function visibleText(text: string): string {
  return isPlain.test(text) ? text : replaceUnseen(text.replace(compiled().escapes, ""), () => "")
}

/** Puts something in the place of each character that people cannot see and that is no part of one that they can. */
export function replaceUnseen(text: string, replacement: (character: string) => string): string {
  if (isPlain.test(text)) return text
  return text.replace(
    compiled().neededOrUnseen,
    (found, kept: string | undefined) => kept ?? replacement(found),
  )
}

/** The same on one line, with every run of white space made one space and none at the ends. */
export function visibleLine(text: string): string {
  return visibleText(text)
    .replace(/[\s\u0085]+/g, " ")
    .trim()
}
