import { rememberLast } from "./last-result.ts"

/**
 * A name that means one thing only, such as a URL, a hash or a ticket number. `rank` says how certain that is, 0 to
 * 100.
 */
export interface Name {
  value: string
  rank: number
}

const nameLengthMax = 200

const extensions =
  "[cm]?[jt]sx?|json[c5l]?|md|mdx|py|pyi|ipynb|go|rs|java|kts?|swift|c|h|cc|cpp|hpp|cs|rb|erb|php|pl|lua|ex|exs|erl|hs|scala|clj|dart|r|jl|zig|sh|bash|zsh|fish|ps1|bat|ya?ml|toml|ini|cfg|conf|env|properties|xml|html?|s?css|less|sass|vue|svelte|astro|sql|prisma|graphql|gql|proto|tf|tfvars|hcl|lock|txt|csv|tsv|log|svg|png|jpe?g|gif|webp|pdf|snap|patch|diff|gradle|cmake|mk|mod|sum|j2|tmpl|tpl|hbs|ejs|rst|adoc|tex|service|plist|sqlite|db"
const withExtension = new RegExp(`^[\\w.@~+$%()[\\]-]*[\\w\\])]\\.(?:${extensions})$`, "i")
const knownFile =
  /^(?:Dockerfile|Containerfile|Makefile|Rakefile|Gemfile|Procfile|Jenkinsfile|Vagrantfile|Brewfile|Justfile|CODEOWNERS|LICENSE|\.(?:env|git(?:ignore|attributes|modules)|npmrc|nvmrc|editorconfig|dockerignore|prettierrc|eslintrc|babelrc)(?:\.[\w.]+)?)$/
const productName =
  /^(?:node|next|vue|nuxt|express|three|d3|chart|moment|react|ember|backbone|socket|asp)\.(?:js|io|net)$/i
const pathCharacters = /^[\w.@~+\-/()[\]%$#\u0080-\uffff]+$/
/**
 * Directories that people name without a file. Other directories count as paths only with more levels or a final slash.
 */
const topDirectory = /^(?:\.{0,2}|~|src|libs?|tests?|spec|docs|packages|internal|scripts|\.\w+)$/

/** The path in a word, without a line number after it. Undefined if the word is not a path. */
export function pathOf(word: string): string | undefined {
  if (!/[./]|^[A-Z]/.test(word)) return undefined
  const path = word.replace(/(?::\d+){1,2}(?:-\d+)?$|#L\d+.*$/, "")
  if (path.length < 3 || path.length > nameLengthMax || path.includes("://") || path.includes("//"))
    return undefined
  const slash = path.lastIndexOf("/")
  const last = path.slice(slash + 1)
  if (slash < 0) {
    return (withExtension.test(path) && !productName.test(path)) || knownFile.test(path) ? path : undefined
  }
  if (!pathCharacters.test(path) || /^[\d/.]+$/.test(path) || !/[A-Za-z\u0080-\uffff]/.test(path))
    return undefined
  if (withExtension.test(last) || knownFile.test(last)) return path
  if (/^@[\w.-]+\/[\w.-]+$/.test(path)) return undefined
  const [first = ""] = path.split("/", 1)
  const deep = /^[^/]+\/(?:$|[^/]+\/)/.test(path) && !/^\w+\/\w+\/\w+$/.test(path)
  return topDirectory.test(first) || deep ? path : undefined
}

const noTicket = /^(?:UTF|SHA|ISO|AES|RSA|MD|ES|HTTP|RFC|GPT|WCAG|IEEE|ASCII|TLS|SSL|COVID|ECMA|CRC|BASE)-/
const timeOfDay = /^[0-2]?\d:[0-5]\d(?::[0-5]\d)?(?:am|pm)?$/i
const unit =
  /^[~<>≤≥=+-]*[$€¥£]?\d[\d.,_]*(?:%|[kmgtp]?i?bs?(?:ps|\/s)?|[munp]?s|secs?|mins?|h|hrs?|days?|d|w|px|r?em|pt|v[hw]|fps|k|m|x|st|nd|rd|th|am|pm|rpm|qps|rps|tps|hz|[kmg]hz|°?[cf]|usd|eur|rmb)(?:\/\w+)?$/i
const commonMixed =
  /^(?:utf-?8|utf-?16|base64|base32|sha-?\d+|md5|h26[45]|x86(?:_64)?|x64|arm64|amd64|s3|ec2|k8s|i18n|l10n|a11y|e2e|oauth2?|http2?|http\/[123](?:\.\d)?|ipv[46]|es\d{1,4}|web3|p\d\d|mp[34]|2fa|b2b|win32|int\d+|u?int\d+|float\d+|f\d{1,2}|q[1-4]|h[1-6]|v\d|top\d+|\d+d|log4j|neo4j|auth0|d3|vue[23]|python[23]|java\d+|node\d+|css3|html5|postgres\d+|level\d|\d+-\d+)$/i

const rules: readonly (readonly [test: RegExp, rank: number])[] = [
  [/^(?:https?|wss?|ftp|ssh|git|postgres(?:ql)?|mysql|redis|mongodb(?:\+srv)?|amqp|s3):\/\/\S{3,}$/i, 76],
  [/^git@[\w.-]+:\S+$/, 74],
  [/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i, 80],
  [/^(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,64}$/i, 80],
  [/^[#!]\d+$/, 78],
  [/^[\w.-]+\/[\w.-]+[#!]\d+$/, 78],
  [/^[A-Z][A-Z0-9]{1,9}-\d+$/, 80],
  [
    /^(?:ERR_[A-Z_]+|E(?:NOENT|ACCES|PERM|EXIST|ISDIR|NOTDIR|NOTEMPTY|MFILE|NFILE|NOSPC|PIPE|TIMEDOUT|CONNREFUSED|CONNRESET|CONNABORTED|ADDRINUSE|ADDRNOTAVAIL|HOSTUNREACH|NETUNREACH|INVAL|AGAIN|BUSY|BADF|FAULT|INTR|NOMEM|NOTFOUND|AI_AGAIN|NOTSUP|ROFS|XDEV|LOOP|NAMETOOLONG|RESOLVE|INTEGRITY)|SQLSTATE\[?\w+\]?)$/,
    74,
  ],
  [/^[A-Z]{1,6}-?\d{2,7}[A-Z]?$/, 72],
  [/^0x[0-9a-f]{2,}$/i, 72],
  [/^CVE-\d{4}-\d+$/, 80],
  [/^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/, 66],
  [/^\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\d+)?$/, 72],
  [/^[\w.-]+:\d{2,5}$/, 70],
  [/^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?:=\S*)?$/, 66],
  [/^@?[\w./-]+@[\^~]?\d[\w.+-]*$/, 66],
  [/^v?\d+\.\d+\.\d+(?:[-+.][\w.+-]+)?$/i, 64],
  [/^v\d+(?:\.\d+)?(?:-[\w.]+)?$/i, 50],
  [/^:\d{4,5}$/, 68],
  [/^[\w.-]+(?:\/[\w.-]+)+:[\w.-]+$/, 64],
  [/^(?:feat|feature|fix|bugfix|hotfix|release|chore|refactor|task|user|dev|spike|exp|wip)\/[\w./-]+$/i, 64],
  [
    /^(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|internal|local|cn|ai|app|cloud|corp|lan|co|me|test|example|svc|gov|edu)$/i,
    62,
  ],
  [/^(?=\S*\d)[a-z]{1,12}[_-](?=\w*\d)[A-Za-z0-9_-]{5,}$/, 72],
  [/^@[\w.-]+\/[\w.-]+$/, 46],
]

/** How certain it is that a word is a name that means one thing; 0 for a plain word. */
export function nameRank(word: string): number {
  if (word.length < 2 || word.length > nameLengthMax || unit.test(word) || commonMixed.test(word)) return 0
  if (noTicket.test(word) || timeOfDay.test(word)) return 0
  for (const [test, rank] of rules) if (test.test(word)) return rank
  if (/^(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9_./:-]{5,}$/.test(word)) return 56
  if (/^[A-Za-z][A-Za-z0-9]*(?:_+[A-Za-z0-9]+)+$/.test(word)) return 34
  if (/^[a-z]+(?:[A-Z][a-z0-9]+)+$|^(?:[A-Z][a-z0-9]+){2,}$/.test(word)) return 28
  if (/^[a-z]+(?:-[a-z0-9]+){2,}$/.test(word)) return 22
  return 0
}

const numbered =
  /(?:\b(?:issue|pr|pull request|mr|merge request|ticket|bug|port|build|run|job|pipeline|case|incident|order|account|tenant|customer|user|invoice|request|task|card|story|error|code|status|http|pid|process|revision|rev|chapter|section|rfc|sprint|batch|shard|room|exit)(?: (?:no\.?|number|id|code))?|端口|工单|单号|构建|错误码|状态码|编号|任务|订单|用户|需求|缺陷|流水线|批次|租户|号)[ :：=#是为]{0,3}(\d{2,12})(?![\w.%])/giu

const tracked = /^(?:issue|pr|pull request|mr|merge request|ticket|bug|incident|case|工单|单号|缺陷|需求)/i

/** API keys are not kept as names, so that the ledger does not repeat them. */
const secret =
  /^(?:sk|pk|rk|ghp|gho|ghs|ghu|glpat|xox[abprs]|npm|hf|AKIA|ASIA|AIza|eyJ)[-_A-Za-z0-9]*[-_A-Za-z0-9.]{16,}$/
const secretValue = /^([A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSW\w*|CREDENTIALS?))=.*$/

function withoutSecret(word: string): string {
  return secret.test(word) ? "" : word.replace(secretValue, "$1")
}

/** Most words match this and need no further check. */
const plainWord = /^[A-Z]?[a-z]+$/

/** The names in a sentence, each once, in order. */
export const namesIn: (sentence: string) => readonly Name[] = rememberLast(findNames)

function findNames(sentence: string): Name[] {
  const found = new Map<string, number>()
  for (const run of wordsOf(sentence)) {
    if (plainWord.test(run)) continue
    const word = withoutSecret(run)
    const rank = pathOf(word) === undefined ? nameRank(word) : 0
    if (rank > (found.get(word) ?? 0)) found.set(word, rank)
    else if (/^\d{4,12}$/.test(word) && !/^(?:19|20)\d\d$|000$/.test(word)) found.set(word, 54)
  }
  if (!/\d\d/.test(sentence)) return inOrder(found)
  for (const match of sentence.matchAll(numbered))
    found.set(match[1]!, Math.max(tracked.test(match[0]) ? 78 : 70, found.get(match[1]!) ?? 0))
  return inOrder(found)
}

function inOrder(found: ReadonlyMap<string, number>): Name[] {
  return [...found].map(([value, rank]) => ({ value, rank }))
}

/** A path with directories in other scripts, up to its file extension. */
const widePath = new RegExp(
  `[\\p{L}\\p{N}_.@~-]+(?:/[\\p{L}\\p{N}_.@~-]+)*/[\\p{L}\\p{N}_.@~-]*?\\.(?:${extensions})(?![A-Za-z0-9_])`,
  "giu",
)

export const pathsIn: (sentence: string) => readonly string[] = rememberLast(findPaths)

function findPaths(sentence: string): string[] {
  const paths = wordsOf(sentence).flatMap((word) => pathOf(word) ?? [])
  const wide = /[^\0-\u024f]\/|\/[^\0-\u024f]/.test(sentence) ? (sentence.match(widePath) ?? []) : []
  return [...new Set([...paths.filter((path) => !wide.some((whole) => whole.includes(path))), ...wide])]
}

/** The words of a sentence that may be a path or a name, without quotation marks and surrounding punctuation. */
export function wordsOf(sentence: string): string[] {
  const words: string[] = []
  for (const run of sentence.split(/[^!-~]+|[,;"'`<>|{}]+/)) {
    const word = bare(run)
    if (word !== "") words.push(word)
  }
  return words
}

function bare(run: string): string {
  if (!/^[*_!?:=([]|[*.!?:=\\)\]]$/.test(run)) return run
  let word = run
  for (;;) {
    const shorter = word
      .replace(/^[*_]*[*]+|^[!?:=]+(?=[^./\d]|$)/, "")
      .replace(/[*.!?:=\\]+$/, "")
      .replace(/^[([](?![^)\]]*[)\]])|^\(([^()]*)\)$|^\[([^[\]]*)\]$/, "$1$2")
      .replace(/^([^([]*)[)\]]+$/, "$1")
    if (shorter === word) return word
    word = shorter
  }
}
