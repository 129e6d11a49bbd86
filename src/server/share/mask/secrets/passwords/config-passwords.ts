import { matchEnd, type TextSpan } from "../../text-span.ts"
import { isFile, isMixed } from "../named-value.ts"
import { isGivenPassword } from "./given-password.ts"

/** Lines of config files with a password that no sign separates from its name. The last group is the password. */
const lines: readonly RegExp[] = [
  // Redis, LDAP, SNMP, OpenVPN and others.
  /(?<=^|[\n"'>]|\\n)[ \t]{0,16}(?:requirepass|masterauth|bindpw|rootpw|rootbindpw|binddn_password|sasl_passwd|ldap_bind_pw|enable[ \t]{1,3}(?:password|secret)|snmp-server[ \t]{1,3}community)[ \t]{1,8}(?:[05][ \t]{1,3})?(?:\{\w{1,12}\})?["']?([^\s"'\\#;]{4,128})(?=["']?[ \t]{0,8}(?:$|[\r\n"'#;]|\\[rn]))/gim,
  /(?<=^|\n|\\n)[ \t]{0,16}auth-user-pass[ \t]{1,4}\S{1,64}[ \t]{1,4}(\S{4,128})(?=[ \t]{0,8}(?:$|[\r\n]))/gm,
  // Prompts of Redis, procedures of SQL Server, PowerShell.
  /(?<=^|\n|\\n|> ?)AUTH[ \t]{1,4}(?:[\w-]{1,40}[ \t]{1,4})?([^\s"'\\]{4,128})(?=[ \t]{0,4}(?:$|[\r\n"]|\\[rn]))/gm,
  /\bsp_(?:addlogin|password|addlinkedsrvlogin)[ \t]{1,4}(?:N?'[^'\n]{0,80}'[ \t]{0,4},[ \t]{0,4})?N?'([^'\n]{3,128})(?=')/gi,
  /\bConvertTo-SecureString[ \t]{1,4}(?:-String[ \t]{1,4})?\\{0,3}["']([^"'\n\\$]{1,200})(?=\\{0,3}["'])/gi,
  // Wireless networks and VPNs.
  /(?<![\w-])(?:psk|wpa_psk|sae_password|pre-?shared-?key|presharedkey|wep_key\d?|ike_psk)["']?[ \t]{0,8}[=:][ \t]{0,8}["']?([^\s"'\\#;,]{4,128})/gi,
  // .pgpass: host, port, database, user, password.
  /(?<=^|\n|\\n)[\w.*-]{1,120}:(?:\d{2,5}|\*):[\w.*-]{1,64}:[\w.*-]{1,64}:([^\s:"']{4,128})(?=[ \t]{0,8}(?:$|[\r\n"']|\\[rn]))/gm,
]

/** The same, for names and commands that say less: only a value with letters and digits counts. */
const weakLines: readonly RegExp[] = [
  /(?<![A-Z0-9_])[A-Z0-9_]{1,40}_(?:AUTH|PSK|OTP|PIN|PW)=["']?([^\s"'\\;&|]{6,128})/g,
  /\bsend(?:_user)?[ \t]{1,4}(?:--[ \t]{1,4})?\\{0,3}["']([^"'\n\\\s]{6,128})(?=\\{1,2}[rn]\\{0,3}["'])/g,
]

const connection =
  /(?<=[;\s"'])(?:password|passwd|pwd)[ \t]{0,4}=[ \t]{0,4}([^\s;"'&\\(),]{4,128})(?=[;"'\s]|$)/gi
const otherSetting =
  /(?:^|[;\s"'])(?:user(?: ?id|name)?|uid|host|server|data source|dbname|database)[ \t]{0,4}=/i

/** Connection strings: `host=db user=app password=...`, `Server=db;Uid=app;Pwd=...;`. */
function connections(text: string): RegExpExecArray[] {
  return [...text.matchAll(connection)].filter(({ index, 1: value }) => {
    const before = text.slice(Math.max(0, index - 200), index)
    // Arguments of a call are separated by commas and may be variables.
    const line = before.slice(before.search(/[^\n(,]*$/))
    return otherSetting.test(line) && isGivenPassword(value!)
  })
}

/** Finds passwords in lines of config files. */
export function configPasswordSpans(text: string): TextSpan[] {
  const found = (line: RegExp) => [...text.matchAll(line)].filter(({ 1: value }) => isGivenPassword(value!))
  const weak = weakLines.flatMap(found).filter(({ 1: value }) => isMixed(value!) && !isFile(value!))
  return [...lines.flatMap(found), ...connections(text), ...weak].map((match) => matchEnd(match, match[1]!))
}
