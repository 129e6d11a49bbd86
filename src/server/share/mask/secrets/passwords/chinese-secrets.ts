import type { TextSpan } from "../../text-span.ts"
import { isCall, isDotted, isFile, isMixed } from "../named-value.ts"
import { isKeyLike } from "../random-text.ts"
import { isGivenPassword } from "./given-password.ts"

const noun =
  "密码|密碼|口令|暗号|密钥|秘钥|密鑰|金鑰|令牌|私钥|私鑰|授权码|激活码|提取码|凭证|(?:[Tt]oken|API [Kk]ey)(?![A-Za-z])"
/** Text between the noun and the value: `已经改成`, `目前是`, `（临时）：`. */
const link = String.raw`(?:[（(][^（()）\n]{1,16}[)）])?[ \t\u3000]{0,3}(?:[\p{Script=Han}]{0,8}?(?:是|为|為|成|用|叫|到|：|:)了?|[:：=＝]|->|→|=>)?[ \t\u3000]{0,3}[:：]?[ \t\u3000]{0,3}`
const opening = "[\"'`“‘「『【]{0,2}"
const value = "([!-&(-.0-~][!-~]{2,127})"
const announced = new RegExp(`(${noun})(${link})${opening}${value}`, "gu")

/** Words between that describe the password instead of giving it. */
const describing =
  /长度|位数|有效|期限|次数|强度|版本|算法|类型|格式|字段|名称|地址|文件|变量|接口|规则|加密|个数|数量|保存|存储|使用|通过|至少|最|必须|需要|支持|返回|包含/
/** Words of technology, which are no passwords. */
const technical =
  /^(?:string|number|boolean|null|undefined|none|true|false|object|array|bcrypt|scrypt|argon2\w*|pbkdf2|md5|sha-?\d*|aes(?:-\d+)?|rsa|des|base64|hex|hash|utf-?8|ascii|json|yaml|xml|http|https|ssh|ssl|tls|jwt|oauth|oauth2|bearer|refresh_token|access_token|password|passwd|token|secret|key|uuid|api|url|id|env|vault|redis|mysql|keychain)$/i

/** Finds secrets that a Chinese sentence announces. In Chinese text, a word of ASCII behind the noun is the value. */
export function chineseSpans(text: string): TextSpan[] {
  if (!/\p{Script=Han}/u.test(text)) return []
  return [...announcedSpans(text), ...valueFirstSpans(text)]
}

function announcedSpans(text: string): TextSpan[] {
  const spans: TextSpan[] = []
  for (const match of text.matchAll(announced)) {
    const [all, name, between] = match
    const given = trimmed(match[3]!)
    const start = match.index + all.length - match[3]!.length
    const isLinked = /[是为為成用叫到：:=＝→>]/.test(between!)
    if (describing.test(between!) || !isChineseSecret(given, { name: name!, isLinked })) continue
    const isUsed = /(?:用|以|输入|，|。|,|；)$/.test(
      text.slice(Math.max(0, match.index - 4), match.index).trimEnd(),
    )
    const isInSentence = /^[\p{Script=Han}]/u.test(
      text.slice(start + given.length, start + given.length + 8).trimStart(),
    )
    if (!isLinked && isInSentence && !isUsed && !isMixed(given)) continue
    spans.push({ start, end: start + given.length })
  }
  return spans
}

function isChineseSecret(text: string, { name, isLinked }: { name: string; isLinked: boolean }): boolean {
  if (text.length < 4 || !isGivenPassword(text) || technical.test(text)) return false
  if (/^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$|^https?:|^[./~-]|^\d{1,5}$|^<|^\/\^/.test(text)) return false
  if (isFile(text) || isDotted({ text, isQuoted: false }) || isCall({ text, isQuoted: false, after: "" }))
    return false
  const isPassword = /密码|密碼|口令|暗号|授权码|激活码|提取码/.test(name)
  if (!isPassword)
    return isLinked && text.length >= 8 && isMixed(text) && (isKeyLike(text) || text.length >= 16)
  return isLinked ? true : isMixed(text) || /[^\w.-]/.test(text) || /^[a-z]{6,}$|^\d{6,}$/i.test(text)
}

const valueFirst =
  /(?<![!-~])([!-~]{4,64}?)["'`”」]?[ \t]{0,3}(?:就是|是|作为|当作|当|做|为|填到|填入|填进|输到|输入)(?:[\p{Script=Han}]{0,4}的)?(?:[\p{Script=Han}]{0,4})(?:密码|密碼|口令|暗号)(?![\p{Script=Han}]{0,3}(?:字段|长度|的|时|管理|策略))/gu

/** `... 是密码`. */
function valueFirstSpans(text: string): TextSpan[] {
  return [...text.matchAll(valueFirst)].flatMap(({ index, 1: found }) => {
    const lead = /^["'`“「(]*/.exec(found!)![0].length
    const given = found!.slice(lead)
    if (!isChineseSecret(given, { name: "密码", isLinked: false })) return []
    return [{ start: index + lead, end: index + lead + given.length }]
  })
}

/** Without closing quotes and the punctuation of the sentence. */
function trimmed(text: string): string {
  return text.replace(/\\[nrt].*$/, "").replace(/["'`]*[)\],.;:?"'`>}]*$/, "")
}
