import type { Planted, SecretSource } from "./secret-source.ts"

/** Breaks a key after `at` units. */
type Break = (key: string, at: number) => string

const cut =
  (between: string): Break =>
  (key, at) =>
    `${key.slice(0, at)}${between}${key.slice(at)}`

const breaks: Break[] = [
  cut("\n"),
  cut("\r\n"),
  cut("\n    "),
  cut("\\\n"),
  cut(" \\\n  "),
  cut("\n> "),
  cut("\n│ "),
  cut('" +\n  "'),
  cut("' \\\n  '"),
  cut('"\n  "'),
  cut("\\n"),
  cut("=\n"),
  cut("\n# "),
  cut("<br>\n"),
]

/** Keys that a terminal, a mail or an editor broke over two lines or more. */
export function plantedWrapped(s: SecretSource): Planted[] {
  const keys = [
    () => `ghp_${s.word(36)}`,
    () => `sk-ant-api03-${s.word(80)}`,
    () => `AIza${s.word(35)}`,
    () => s.word(48),
    () => `glpat-${s.word(20)}`,
  ]
  const broken = breaks.flatMap((breakAt, index) => {
    // A rest that looks like a word is not recognised behind a key that is complete without it.
    let key = ""
    do key = keys[index % keys.length]!()
    while (!/(?=.*\d)(?=.*[A-Z])(?=.*[a-z]).{8}$/.test(key.slice(-8)))
    const other = `DEPLOY_TOKEN="${s.word(60)}"`
    return [
      { text: `The key is here:\n${breakAt(key, 14 + s.below(6))}\nThat is all.`, secret: key.slice(-6) },
      { text: `and so ${breakAt(key, key.length - 8)} is it`, secret: key.slice(-6) },
      { text: `  ${breakAt(other, 44)}\nPORT=80`, secret: other.slice(-8, -1) },
    ]
  })
  const long = s.word(180)
  const lines = long.match(/.{1,60}/g)!
  const blocks: Planted[] = [
    { text: `session token:\n${lines.join("\n")}\n`, secret: lines[1]! },
    { text: `session token:\n${lines.join("\n")}\n`, secret: lines[2]! },
    { text: `aws_session_token = ${lines.join("\n    ")}\n`, secret: lines[2]! },
    { text: `client_secret: |\n  ${lines.join("\n  ")}\nuser: jane`, secret: lines[2]! },
    { text: `The private key (base64):\n\n${s.base64(90).replace(/.{40}/g, "$&\n")}`, secret: "" },
  ]
  const last = blocks.at(-1)!
  last.secret = last.text.trimEnd().split("\n").at(-2)!
  return [...broken, ...blocks]
}
