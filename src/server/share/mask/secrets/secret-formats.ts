import type { TextSpan } from "../text-span.ts"

/** A kind of key with a known format. */
interface Format {
  /** Texts without any of these are skipped. */
  hints: readonly string[]
  /** Must be global. The last group, at the end of the match, is the secret; without a group, the whole match is. */
  pattern: RegExp
  isSecret?: (secret: string) => boolean
}

/**
 * The beginning of a word. An escaped line break, an encoded character or a colour code before it ends with a letter,
 * but does not belong to the word.
 */
const edge = String.raw`(?<=^|[^A-Za-z0-9]|\\[nrtbf]|%[0-9A-Fa-f]{2}|\[[0-9;]{1,8}m)`
/** The same for words that may contain `-` and `_`. A long word is then tried only once. */
const wordEdge = String.raw`(?<=^|[^A-Za-z0-9_-]|\\[nrtbf]|%[0-9A-Fa-f]{2}|\[[0-9;]{1,8}m)`

function format(hints: string | readonly string[], source: string, isSecret?: Format["isSecret"]): Format {
  return {
    hints: typeof hints === "string" ? [hints] : hints,
    pattern: new RegExp(source, "g"),
    ...(isSecret && { isSecret }),
  }
}

const knownOpenAi = /^sk-(?:proj|svcacct|admin|ant|or|lf)-/
const slashes = ["://", ":\\"]
const longRun = /(?=[A-Za-z]{0,19}\d)[A-Za-z0-9]{20}/

/** Each pattern takes time linear in the length of the text: a repetition is bounded, or consumes its whole run. */
const formats: readonly Format[] = [
  // OpenAI, Anthropic, OpenRouter and others with the same format.
  format(
    "sk-",
    `${edge}sk-[A-Za-z0-9_-]{16,}`,
    (key) => (knownOpenAi.test(key) && /\d/.test(key)) || longRun.test(key),
  ),
  // Google: keys, access tokens, client secrets.
  format("AIza", "AIza[A-Za-z0-9_-]{35}"),
  format("ya29.", String.raw`ya29\.[A-Za-z0-9_-]{20,}`),
  format("GOCSPX-", "GOCSPX-[A-Za-z0-9_-]{20,}"),
  format(["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], "gh[pousr]_[A-Za-z0-9]{30,}"),
  format("github_pat_", "github_pat_[A-Za-z0-9_]{22,}"),
  format("gl", "gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent)-[A-Za-z0-9_-]{20,}"),
  // Slack: tokens and webhooks.
  format("xox", "xox[abceoprs]-[A-Za-z0-9-]{10,}", (key) => /\d/.test(key)),
  format("xapp-", "xapp-[A-Za-z0-9-]{12,}", (key) => /\d/.test(key)),
  format(["AKIA", "ASIA", "ABIA", "ACCA"], "(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])"),
  // Stripe.
  format(["sk_", "rk_", "pk_live"], "[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
  format("whsec_", "whsec_[A-Za-z0-9+/=]{20,}"),
  format("npm_", "npm_[A-Za-z0-9]{36}"),
  format("pypi-", "pypi-A[A-Za-z0-9_-]{40,}"),
  format("hf_", "hf_[A-Za-z0-9]{30,}"),
  // Telegram bots; in URLs after `bot`.
  format(
    [":", "%3A"],
    String.raw`(?:${edge}|(?<=bot))\d{8,10}(?::|%3A)[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])`,
    (key) => /[A-Z]/.test(key.slice(12)),
  ),
  // Discord: bot tokens and webhooks.
  format(
    ".",
    `${wordEdge}[MNO][A-Za-z0-9_-]{22,27}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{27,38}(?![A-Za-z0-9_-])`,
  ),
  format("/webhooks/", String.raw`discord(?:app)?\.com\/api\/webhooks\/\d{5,25}\/([A-Za-z0-9_-]{20,})`),
  format("SG.", String.raw`${edge}SG\.[A-Za-z0-9_-]{1,128}\.[A-Za-z0-9_-]{8,256}`, (key) => /\d/.test(key)),
  // Twilio.
  format("SK", `${edge}SK[0-9a-f]{32}(?![A-Za-z0-9])`),
  // JSON Web Tokens.
  format(
    "eyJ",
    `${wordEdge}eyJ[A-Za-z0-9_-]{8,}\\.(?:eyJ)?[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{8,}(?:\\.[A-Za-z0-9_-]{4,}){0,2}`,
  ),
  format("AGE-SECRET-KEY-", "AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{20,}"),
  format(["dop_v1_", "doo_v1_", "dor_v1_"], "do[opr]_v1_[a-f0-9]{40,}"),
  format("shp", "shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
  format("dapi", `${edge}dapi[0-9a-f]{32}`),
  format("dp.", String.raw`${edge}dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{1,35}\.)?[A-Za-z0-9]{40,}`),
  format("lin_", "lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
  format(["secret_", "ntn_"], `${edge}(?:secret|ntn)_[A-Za-z0-9]{40,}`),
  format("gsk_", `${edge}gsk_[A-Za-z0-9]{40,}`),
  format("xai-", `${edge}xai-[A-Za-z0-9]{40,}`),
  format("r8_", `${edge}r8_[A-Za-z0-9]{36,}`),
  format("pplx-", `${edge}pplx-[A-Za-z0-9]{40,}`),
  // HashiCorp Vault and Terraform.
  format(["hvs.", "hvb.", "hvr."], String.raw`${edge}hv[sbr]\.[A-Za-z0-9_-]{24,}`),
  format(".atlasv1.", String.raw`[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{50,}`),
  format("key-", `${edge}key-[0-9a-f]{32}(?![0-9a-f])`),
  format("sq0", "sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{20,}"),
  format("ATATT3", "ATATT3[A-Za-z0-9_=-]{50,}"),
  format("AccountKey=", "AccountKey=([A-Za-z0-9+/=]{40,})"),
  format("SharedAccessKey=", "SharedAccessKey=([A-Za-z0-9+/=]{40,})"),
  format("sbp_", `${edge}sbp_[a-f0-9]{40}`),
  format("pscale_", "pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{30,}"),
  format("PMAK-", "PMAK-[A-Za-z0-9]{24}-[A-Za-z0-9]{34}"),
  format("EAA", `${edge}EAA[A-Za-z0-9]{80,}`),
  format("glsa_", "glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
  format("nvapi-", "nvapi-[A-Za-z0-9_-]{40,}"),
  format("tskey-", "tskey-[a-z]{2,16}-[A-Za-z0-9]{8,}-[A-Za-z0-9]{16,}"),
  // Names and passwords in URLs; the name alone may be a token. JSON of PHP has a backslash before each slash.
  format(
    slashes,
    String.raw`:(?:\\{0,3}\/){2}[^\s/:@"'<>\\]{0,128}:([^\s/"'<>\\]{1,256})(?=@)`,
    (key) => !/^[*.x•]*$|^[<${[]|^%(?:\(\w+\))?[sdv]$/i.test(key),
  ),
  // A password with a slash, unless a port stands before the slash.
  format(
    slashes,
    String.raw`:(?:\\{0,3}\/){2}[^\s/:@."'<>\\]{1,64}:([^\s/@"'<>\\]{1,128}\/[^\s@"'<>\\]{1,200})(?=@[\w[])`,
    (key) => !/^(?:\d+|:?port)\/|^[*<${[]/i.test(key),
  ),
  format(
    slashes,
    String.raw`:(?:\\{0,3}\/){2}([^\s/:@"'<>\\]{20,256})(?=(?::[^\s/@"'<>\\]{0,256})?@)`,
    (key) => /\d/.test(key) && !/^[<${[]/.test(key),
  ),
]

/** Finds keys of known formats. */
export function formatSpans(text: string): TextSpan[] {
  const spans: TextSpan[] = []
  for (const { hints, pattern, isSecret } of formats) {
    if (!hints.some((hint) => text.includes(hint))) continue
    for (const match of text.matchAll(pattern)) {
      const end = match.index + match[0].length
      const secret = match[1] ?? match[0]
      if (isSecret === undefined || isSecret(secret)) spans.push({ start: end - secret.length, end })
    }
  }
  return [...spans, ...awsSecretSpans(text)]
}

const awsID = /(?:AKIA|ASIA)[A-Z2-7]{16}(?![A-Za-z0-9])/g
const awsSecret = /(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])/g
const awsNearby = 400

/** The secret half of an AWS key has no format of its own, so it is searched near the other half. */
function awsSecretSpans(text: string): TextSpan[] {
  if (!text.includes("AKIA") && !text.includes("ASIA")) return []
  const spans: TextSpan[] = []
  let seen = 0
  for (const { index } of text.matchAll(awsID)) {
    const start = Math.max(seen, index - awsNearby)
    const end = Math.min(text.length, index + awsNearby)
    for (const found of text.slice(start, end).matchAll(awsSecret)) {
      if (!/[A-Z]/.test(found[0]) || !/[a-z]/.test(found[0]) || !/\d/.test(found[0])) continue
      spans.push({ start: start + found.index, end: start + found.index + 40 })
    }
    // The ranges overlap, so that a secret at the end of one range is found in the next.
    seen = Math.max(start, end - 80)
  }
  return spans
}
