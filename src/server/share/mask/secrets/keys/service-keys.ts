import type { TextSpan } from "../../text-span.ts"
import { isKeyLike, isRandom } from "../random-text.ts"

/**
 * Keys that begin with a text of their service: the service, the beginnings of its keys, the characters that follow,
 * and their least number. `test/server/secret-rules.test.ts` compares the table with a maintained set of rules.
 */
type Row = readonly [service: string, beginnings: string, body: Body, unitsMin: number]

const bodies = {
  hex: "[0-9a-fA-F]",
  hexDash: "[0-9a-fA-F-]",
  word: "[A-Za-z0-9]",
  dash: "[A-Za-z0-9_-]",
  dots: "[A-Za-z0-9_.=-]",
  base64: "[A-Za-z0-9+/=_-]",
} as const
type Body = keyof typeof bodies

const rows: readonly Row[] = [
  ["1Password", "A3-", "dash", 30],
  ["1Password", "ops_ey", "base64", 60],
  ["Adafruit", "aio_", "word", 26],
  ["Adobe", "p8e-", "dash", 32],
  ["Aiven", "AVNS_", "dash", 16],
  ["Airtable", "pat", "dots", 60],
  ["Alibaba Cloud", "LTAI", "word", 12],
  ["Anthropic", "sk-ant-", "dash", 20],
  ["Artifactory", "AKCp", "word", 60],
  ["Artifactory", "cmVmd", "word", 50],
  ["Atlassian", "ATATT3 ATCTT3", "dots", 40],
  ["AWS Bedrock", "ABSK", "base64", 90],
  ["AWS Bedrock", "bedrock-api-key-", "base64", 30],
  ["Beamer", "b_", "dash", 42],
  ["Bitbucket", "ATBB", "dash", 28],
  ["Brevo", "xkeysib- xsmtpsib-", "dash", 60],
  ["Buildkite", "bkua_ bkpi_", "word", 36],
  ["CircleCI", "CCIPAT_ CCIPRJ_", "dash", 40],
  ["Clerk", "sk_live_", "word", 16],
  ["ClickHouse", "4b1d", "word", 36],
  ["ClickUp", "pk_", "dash", 36],
  ["Clojars", "CLOJARS_", "word", 50],
  ["Cloudflare", "v1.0-", "hexDash", 100],
  ["Cloudflare", "cfk_ cfut_ cfat_", "word", 40],
  ["Contentful", "CFPAT-", "dash", 40],
  ["crates.io", "cio", "word", 32],
  ["Databricks", "dapi dose", "hex", 32],
  ["Datadog", "ddapp_", "word", 30],
  ["Defined Networking", "dnkey-", "dash", 60],
  ["DigitalOcean", "dop_v1_ doo_v1_ dor_v1_", "hex", 40],
  ["Docker", "dckr_pat_ dckr_oat_", "dash", 20],
  ["Dropbox", "sl.", "dots", 60],
  ["Duffel", "duffel_", "dash", 40],
  ["Dynatrace", "dt0c01. dt0s", "dots", 60],
  ["E2B", "e2b_", "word", 36],
  ["EasyPost", "EZAK EZTK", "word", 50],
  ["ElevenLabs", "sk_", "hex", 40],
  ["Facebook", "EAA", "word", 60],
  ["Figma", "figd_ figo_", "dash", 32],
  ["Finicity", "FLWPUBK", "dash", 30],
  ["Firecrawl", "fc-", "hex", 32],
  ["Fireworks", "fw_", "word", 20],
  ["Flutterwave", "FLWSECK", "dash", 16],
  ["Fly.io", "fo1_", "dash", 40],
  ["Fly.io", "fm1a_ fm1r_ fm2_", "base64", 60],
  ["Frame.io", "fio-u-", "dots", 50],
  ["GitHub", "ghp_ gho_ ghu_ ghr_", "dash", 24],
  ["GitHub", "ghs_", "dots", 16],
  ["GitHub", "github_pat_", "dash", 22],
  ["GitLab", "glpat- glrt-", "dots", 20],
  ["GitLab", "gldt- glrtr- glptt- glft- glsoat- glimt- glagent- gloas- glffct- glwt-", "dash", 20],
  ["GitLab", "glcbt-", "dash", 16],
  ["GoCardless", "live_ sandbox_", "dash", 40],
  ["Grafana", "glc_", "base64", 32],
  ["Grafana", "glsa_", "dash", 32],
  ["Grafana", "eyJrIjoi", "base64", 40],
  ["Groq", "gsk_", "word", 40],
  ["Harness", "pat. sat.", "dots", 60],
  ["Heroku", "HRKU-", "dash", 30],
  ["HubSpot", "pat-na1- pat-eu1-", "hexDash", 32],
  ["Hugging Face", "hf_ api_org_", "word", 30],
  ["Infracost", "ico-", "word", 30],
  ["Intra42", "s-s4t2ud- s-s4t2af-", "hex", 60],
  ["Jina", "jina_", "dash", 40],
  ["Langfuse", "sk-lf-", "dash", 30],
  ["LangSmith", "lsv2_", "dash", 36],
  ["LaunchDarkly", "api- sdk-", "hexDash", 36],
  ["Linear", "lin_api_ lin_oauth_", "dash", 32],
  ["Lob", "test_pub_", "word", 30],
  ["Mergify", "mka_", "dash", 30],
  ["Modal", "as-", "word", 20],
  ["MongoDB Atlas", "mdb_sa_sk_", "dash", 36],
  ["Neon", "napi_", "word", 50],
  ["Netlify", "nfp_ nfc_", "word", 36],
  ["New Relic", "NRAK-", "word", 24],
  ["New Relic", "NRII- NRAA- NRRA-", "dash", 24],
  ["New Relic", "NRJS-", "dash", 16],
  ["ngrok", "ak_", "word", 27],
  ["Notion", "ntn_ secret_", "word", 40],
  ["npm", "npm_", "dash", 36],
  ["NuGet", "oy2", "word", 43],
  ["NVIDIA", "nvapi-", "dash", 40],
  ["Octopus Deploy", "API-", "word", 26],
  ["OpenRouter", "sk-or-", "dash", 30],
  ["OpenShift", "sha256~", "dash", 40],
  ["Perplexity", "pplx-", "word", 40],
  ["Pinecone", "pcsk_", "dash", 50],
  ["Plaid", "access-sandbox- access-development- access-production-", "hexDash", 36],
  ["PlanetScale", "pscale_tkn_ pscale_pw_ pscale_oauth_", "dots", 30],
  ["PostHog", "phx_ phs_", "dash", 36],
  ["Postman", "PMAK-", "dash", 58],
  ["Prefect", "pnu_ pnb_", "word", 36],
  ["Pulumi", "pul-", "hex", 40],
  ["PyPI", "pypi-A", "dash", 40],
  ["Railway", "rlwy_", "dash", 30],
  ["ReadMe", "rdme_", "word", 60],
  ["Render", "rnd_", "word", 24],
  ["Replicate", "r8_", "word", 36],
  ["Resend", "re_", "dash", 28],
  ["RubyGems", "rubygems_", "hex", 48],
  ["RunPod", "rpa_", "word", 36],
  ["Scalingo", "tk-us-", "dash", 48],
  ["Sentry", "sntryu_", "hex", 60],
  ["Sentry", "sntrys_", "base64", 60],
  ["SettleMint", "sm_aat_ sm_pat_ sm_sat_", "word", 16],
  ["Shippo", "shippo_live_ shippo_test_", "hex", 40],
  ["Shopify", "shpat_ shpca_ shppa_ shpss_", "word", 32],
  ["Slack", "xoxe.", "dots", 40],
  ["Snyk", "snyk_", "dots", 36],
  ["SonarQube", "sqa_ sqb_ sqp_ squ_", "hex", 40],
  ["Sourcegraph", "sgp_", "dash", 40],
  ["Sourcegraph", "slk_", "hex", 60],
  ["Square", "EAAA", "dash", 50],
  ["Square", "sq0", "dash", 24],
  ["Stripe", "sk_prod_ rk_prod_", "word", 10],
  ["Supabase", "sbp_", "word", 40],
  ["Supabase", "sb_secret_", "dash", 24],
  ["Tavily", "tvly-", "dash", 24],
  ["Tencent Cloud", "AKID IKID", "word", 28],
  ["Trello", "ATTA", "hex", 60],
  ["Trigger.dev", "tr_prod_", "word", 16],
  ["Typeform", "tfp_", "dots", 40],
  ["Vercel", "vcp_ vci_ vca_ vcr_ vck_", "word", 20],
  ["Vercel", "vercel_blob_rw_", "dash", 30],
  ["Volcengine", "AKLT", "base64", 30],
  ["WakaTime", "waka_", "hexDash", 32],
  ["Weaviate", "WCS-", "word", 30],
  ["WooCommerce", "ck_ cs_", "hex", 40],
  ["Yandex", "AQVN", "dash", 34],
  ["Yandex", "y0_", "dash", 40],
  ["Yandex", "t1.", "dots", 60],
  ["Zuplo", "zpka_", "dash", 40],
]

/** Keys with other forms: the texts that they contain, and their pattern. The last group, if any, is the secret. */
const others: readonly [hint: string, pattern: string][] = [
  // Asana.
  ["/", String.raw`(?<![\w/])[12]\/\d{16}(?:\/\d{16})?:[0-9a-f]{32}(?![0-9a-f])`],
  // Azure: client secrets, signatures of shared access.
  ["Q~", String.raw`(?<![\w~.])[\w~.]{3}\dQ~[\w~.-]{31,34}(?![\w~-])`],
  // ClickUp and MaxMind.
  ["_mmk", String.raw`(?<!\w)\w{6}_\w{29}_mmk(?!\w)`],
  // Facebook: an application and its secret.
  ["|", String.raw`(?<!\d)\d{15,16}\|[\w-]{27,40}(?![\w-])`],
  // Mailchimp.
  ["-us", String.raw`(?<=^|[^0-9a-zA-Z]|\\[nrt])[0-9a-f]{32}-us\d{1,2}(?!\d)`],
  // Mapbox, and others with a token of three parts after two letters.
  [".eyJ", String.raw`(?<![\w.])[a-z]{1,2}\.eyJ[\w-]{8,}\.[\w-]{8,}`],
  // Okta.
  ["00", String.raw`(?<![\w-])00(?=[\w-]{0,38}\d)(?=[\w-]{0,38}[A-Z])[\w-]{40}(?![\w-])`],
  // Twitter.
  ["AAAAAAAAAAAAAAAAAAAAAA", "(?<![A-Za-z0-9/+])A{22}[A-Za-z0-9%]{60,120}(?![A-Za-z0-9%/+])"],
  // Vault, before version 1.10.
  ["s.", String.raw`(?<![\w.])s\.(?=[A-Za-z]{0,23}\d)[A-Za-z0-9]{24}(?![\w.])`],
  // Webhooks: the rest of the address is the secret.
  ["hooks.slack.com/", String.raw`hooks\.slack\.com\/(?:services|workflows|triggers)\/([\w/+-]{8,200})`],
  ["hooks.zapier.com/", String.raw`hooks\.zapier\.com\/hooks\/(?:catch\/)?([\w/]{8,80})`],
  ["webhook.office.com/", String.raw`webhook\.office\.com\/webhookb2\/([\w@/-]{36,300})`],
  ["/bot/v2/hook/", String.raw`\/bot\/v2\/hook\/([\w-]{16,80})`],
  ["/webhook/send?key=", String.raw`\/webhook\/send\?key=([\w-]{16,80})`],
  ["/robot/send?access_token=", String.raw`\/robot\/send\?access_token=([\w-]{16,200})`],
  ["/api/webhooks/", String.raw`\/api\/webhooks\/\d{5,25}\/([\w-]{20,120})`],
  ["hooks.airtable.com/", String.raw`hooks\.airtable\.com\/workflows\/([\w/-]{20,200})`],
  ["maker.ifttt.com/", String.raw`maker\.ifttt\.com\/trigger\/[\w-]{1,80}\/with\/key\/([\w-]{16,120})`],
]

/** A beginning of letters only may also occur within base64. */
const letterEdge = String.raw`(?<=^|[^A-Za-z0-9_/+=-]|\\[nrtbf]|%[0-9A-Fa-f]{2}|\[[0-9;]{1,8}m)`
/** The beginning of a word, also behind an escaped line break, an encoded character or a colour code. */
const edge = String.raw`(?<=^|[^A-Za-z0-9_-]|\\[nrtbf]|%[0-9A-Fa-f]{2}|\[[0-9;]{1,8}m)`

interface KeyPattern {
  hint: string
  pattern: RegExp
  bodyMin: number
}

const patterns: readonly KeyPattern[] = [
  ...rows.flatMap(([, beginnings, body, unitsMin]) =>
    beginnings.split(" ").map((hint) => ({
      hint,
      // The whole run is consumed, so that the time stays linear.
      pattern: new RegExp(
        `${/[_.~-]/.test(hint) ? edge : letterEdge}${RegExp.escape(hint)}${bodies[body]}{${unitsMin},}`,
        "g",
      ),
      bodyMin: unitsMin,
    })),
  ),
  ...others.map(([hint, pattern]) => ({ hint, pattern: new RegExp(pattern, "g"), bodyMin: 0 })),
]

/** Finds keys that their service marks by how they begin, and addresses of webhooks. */
export function serviceKeySpans(text: string): TextSpan[] {
  const spans: TextSpan[] = []
  for (const { hint, pattern, bodyMin } of patterns) {
    if (!text.includes(hint)) continue
    for (const match of text.matchAll(pattern)) {
      const end = match.index + match[0].length
      const secret = match[1] ?? match[0]
      if (bodyMin > 0 && !isKeyBody(match[0].slice(hint.length))) continue
      spans.push({ start: end - secret.length, end })
    }
  }
  return spans
}

/** Words behind a beginning such as `re_` are the name of a function. */
function isKeyBody(body: string): boolean {
  if (!/\d/.test(body)) return body.length >= 20 && /[a-z]/.test(body) && /[A-Z]/.test(body) && isRandom(body)
  return !/[a-z]/.test(body) || /^[0-9a-f-]+$/i.test(body) || isKeyLike(body)
}

const beginnings = [
  ...rows.flatMap(([, all]) => all.split(" ")),
  "AIza",
  "sk-",
  "xox",
  "ya29.",
  "GOCSPX-",
  "AKIA",
]

/** Whether a text begins as the key of a service, whole or cut. */
export function beginsAsKey(text: string): boolean {
  return beginnings.some((beginning) => text.startsWith(beginning))
}
