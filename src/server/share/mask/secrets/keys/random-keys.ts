import type { TextSpan } from "../../text-span.ts"
import { isIdentity } from "../named-value.ts"
import { isKeyLike, isRandom, isRandomMix, isReadableBase64 } from "../random-text.ts"

/**
 * Finds keys of services that no list knows: long texts of random letters and digits, and random texts beside the name
 * of a service. Hashes in hex, identifiers, public keys and data such as pictures stay.
 */
export function randomKeySpans(text: string): TextSpan[] {
  return [...randomRuns(text), ...besideServices(text)]
}

/** Shorter runs are ids, longer runs are data. */
export const randomUnitsMin = 24
const runUnitsMax = 400
const run = new RegExp(String.raw`(?<![\w+/~-])[A-Za-z0-9_+/~-]{${randomUnitsMin},}(?:={1,2}(?![\w=]))?`, "g")

function randomRuns(text: string): TextSpan[] {
  const spans: TextSpan[] = []
  let blocks: readonly TextSpan[] | undefined
  let block = 0
  for (const { index, 0: found } of text.matchAll(run)) {
    if (found.length > runUnitsMax || isPublic(text, { index, found })) continue
    // The letter of an escaped line break is no part of the run.
    const skipped = text[index - 1] === "\\" && /^[nrt]/.test(found) ? 1 : 0
    for (const span of randomParts(found.slice(skipped))) {
      const start = index + skipped + span.start
      blocks ??= publicBlocks(text)
      while (block < blocks.length && blocks[block]!.end <= start) block++
      if (block < blocks.length && blocks[block]!.start <= start) continue
      spans.push({ start, end: index + skipped + span.end })
    }
  }
  return spans
}

/** The random parts of a run. A path is judged name by name. */
function randomParts(found: string): TextSpan[] {
  const names = found.split("/")
  const isPath = names.length > 1 && (names[0] === "" || names.some((name) => isWordy(name)))
  if (!isPath) return isRandomKey(found) ? [{ start: 0, end: found.length }] : []
  let start = 0
  return names.flatMap((name) => {
    const span = { start, end: start + name.length }
    start = span.end + 1
    return name.length >= randomUnitsMin && isRandomKey(name) ? [span] : []
  })
}

function isRandomKey(text: string): boolean {
  return isRandomMix(text) && !isReadableBase64(text)
}

function isWordy(name: string): boolean {
  return name.length >= 3 && /^[A-Za-z][a-z]+(?:[-_A-Z][a-z]*)*$/.test(name) && !isRandom(name)
}

/** What stands before a hash, a fingerprint or data. */
const publicBefore =
  /(?:sha-?\d{1,3}[-:=~ ]|md5[-:=]|base64(?:,|%2C)|h1:|integrity["']?[:=]["' ]{0,2}|fingerprint[:= ]{1,2})$/i
const publicBegin =
  /^(?:sha\d{1,3}-|md5-|AAAA(?:B3NzaC1|C3NzaC1|E2VjZHNh|GnNr|InNr)|iVBORw0KGgo|\/9j\/|R0lGOD|UklGR|PHN2Zy|JVBERi|d09G|AAABAA|T2dnUw|SUQz|PD94bWw|UEsDB|H4sI)/
const fileEnding = /^\.[a-z][a-z0-9]{1,4}(?![\w-])/

function isPublic(text: string, { index, found }: { index: number; found: string }): boolean {
  const end = index + found.length
  return (
    publicBegin.test(found) ||
    publicBefore.test(text.slice(Math.max(0, index - 16), index)) ||
    fileEnding.test(text.slice(end, end + 8)) ||
    /^0x[0-9a-f]+$/i.test(found) ||
    // Data in base64 that is encoded in an address.
    (text[index - 1] === "%" && /^2[BF]/.test(found) && /^%(?:2[BF]|3D)/.test(text.slice(end, end + 3)))
  )
}

const publicBorder =
  /-----(BEGIN|END) (?:[A-Z0-9 ]{0,30}(?:CERTIFICATE|PUBLIC KEY|REQUEST|PARAMETERS|CRL|SIGNATURE|MESSAGE))(?: BLOCK)?-----/g

/** Longer than a certificate. A block without an end must not hide keys in the rest of the text. */
const blockUnitsMax = 16 * 1024

/** Certificates, public keys, signatures. */
function publicBlocks(text: string): TextSpan[] {
  const blocks: TextSpan[] = []
  let start: number | undefined
  for (const { index, 0: line, 1: kind } of text.matchAll(publicBorder)) {
    if (kind === "BEGIN") start = index
    else if (start !== undefined) {
      blocks.push({ start, end: Math.min(index + line.length, start + blockUnitsMax) })
      start = undefined
    }
  }
  if (start !== undefined) blocks.push({ start, end: Math.min(text.length, start + blockUnitsMax) })
  return blocks
}

const services =
  "adafruit|adobe|airtable|algolia|alibaba|aliyun|amplitude|anthropic|asana|atlassian|auth0|azure|beamer|bitbucket|bittrex|box|bugsnag|buildkite|cerebras|circleci|clickup|cloudflare|cloudinary|codecov|cohere|coinbase|confluent|contentful|coveralls|databricks|datadog|deepgram|deepl|deepseek|digitalocean|discord|droneci|dropbox|elastic|elevenlabs|etsy|facebook|fastly|figma|finicity|finnhub|firebase|flickr|freshbooks|gemini|giphy|github|gitlab|gitter|grafana|heroku|honeycomb|hubspot|intercom|jira|kraken|kucoin|launchdarkly|linear|linkedin|mailchimp|mailgun|mapbox|meraki|messagebird|mistral|mixpanel|netlify|newrelic|new[-_ ]relic|notion|nytimes|okta|openai|openrouter|opsgenie|pagerduty|pinecone|plaid|posthog|pusher|qiniu|rapidapi|rollbar|segment|sendbird|sendgrid|sentry|shopify|slack|snyk|sonar|splunk|square|squarespace|statuspage|stripe|sumo(?:logic)?|supabase|telegram|tencent|together|travis|trello|twilio|twitch|twitter|typeform|unsplash|vercel|weatherapi|yandex|zendesk|zhipu|zoom"
const besideService = new RegExp(
  String.raw`(?<![A-Za-z])(?:${services})(?![a-z])[\w.-]{0,20}(?: (?:api|app|key|token|secret|id|admin)){0,2}["'\x60\]]{0,2}[ \t]{0,8}(?:=>|:=|[=:：]|(?<=[ \t])is(?=[ \t]))[ \t]{0,8}["'\x60]{0,1}([A-Za-z0-9_-]{15,128}={0,2})(?![\w/.@-])`,
  "gi",
)

/** `datadog: 0123...`: behind the name of a service, a hash or a UUID is a key too. */
function besideServices(text: string): TextSpan[] {
  return [...text.matchAll(besideService)]
    .filter(
      ({ 1: value }) =>
        /\d/.test(value!) && /[a-z]/i.test(value!) && (isIdentity(value!) || isKeyLike(value!)),
    )
    .map((match) => {
      const end = match.index + match[0].length
      return { start: end - match[1]!.length, end }
    })
}
