/** From U+00A0 on, in order. */
const latin =
  "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro " +
  "para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil " +
  "Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave " +
  "Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml " +
  "igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute " +
  "thorn yuml"

/** From U+03B1 on, in order. */
const greek =
  "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigmaf sigma tau upsilon phi " +
  "chi psi omega"

const others: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  AMP: "&",
  LT: "<",
  GT: ">",
  QUOT: '"',
  OElig: "Œ",
  oelig: "œ",
  Scaron: "Š",
  scaron: "š",
  Yuml: "Ÿ",
  fnof: "ƒ",
  circ: "ˆ",
  tilde: "˜",
  ensp: " ",
  emsp: " ",
  thinsp: " ",
  zwnj: "",
  zwj: "",
  lrm: "",
  rlm: "",
  ndash: "–",
  mdash: "—",
  lsquo: "‘",
  rsquo: "’",
  sbquo: "‚",
  ldquo: "“",
  rdquo: "”",
  bdquo: "„",
  dagger: "†",
  Dagger: "‡",
  bull: "•",
  hellip: "…",
  permil: "‰",
  prime: "′",
  Prime: "″",
  lsaquo: "‹",
  rsaquo: "›",
  euro: "€",
  trade: "™",
  larr: "←",
  uarr: "↑",
  rarr: "→",
  darr: "↓",
  harr: "↔",
  lArr: "⇐",
  rArr: "⇒",
  hArr: "⇔",
  forall: "∀",
  part: "∂",
  exist: "∃",
  empty: "∅",
  nabla: "∇",
  isin: "∈",
  notin: "∉",
  prod: "∏",
  sum: "∑",
  minus: "−",
  radic: "√",
  infin: "∞",
  and: "∧",
  or: "∨",
  cap: "∩",
  cup: "∪",
  int: "∫",
  sim: "∼",
  asymp: "≈",
  ne: "≠",
  equiv: "≡",
  le: "≤",
  ge: "≥",
  sub: "⊂",
  sup: "⊃",
  hearts: "♥",
  check: "✓",
  lbrace: "{",
  rbrace: "}",
  lbrack: "[",
  rbrack: "]",
  lpar: "(",
  rpar: ")",
  lowbar: "_",
  ast: "*",
  num: "#",
  colon: ":",
  semi: ";",
  comma: ",",
  period: ".",
  sol: "/",
  bsol: "\\",
  vert: "|",
  grave: "`",
  dollar: "$",
  percnt: "%",
  commat: "@",
  excl: "!",
  quest: "?",
  equals: "=",
  plus: "+",
  Tab: "\t",
  NewLine: "\n",
  hyphen: "‐",
  nbhy: "‑",
}

const named = new Map<string, string>([
  ...latin.split(" ").map((name, index) => [name, String.fromCodePoint(0xa0 + index)] as const),
  ...greek.split(" ").map((name, index) => [name, String.fromCodePoint(0x3b1 + index)] as const),
  ...Object.entries(others),
])

/** Replaces the character references that pages really use; an unknown one stays as it is written. */
export function decodeEntities(text: string): string {
  if (!text.includes("&")) return text
  return text.replace(
    /&(?:#(\d{1,10});?|#x([\da-f]{1,8});?|([a-z][a-z\d]{1,10});)/gi,
    (whole: string, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return named.get(name) ?? whole
      return characterOf(decimal === undefined ? Number.parseInt(hex!, 16) : Number(decimal))
    },
  )
}

function characterOf(code: number): string {
  const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
  return isCharacter ? String.fromCodePoint(code) : "\ufffd"
}
