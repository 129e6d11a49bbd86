import { matchEnd, type TextSpan } from "../../text-span.ts"

/** A kind of hash. Texts without the hint are skipped. The last group, if there is one, is the hash. */
interface HashForm {
  hint: string
  pattern: RegExp
}

const salt = "[./A-Za-z0-9]"
const base64 = "[A-Za-z0-9+/]"
const form = (hint: string, source: string, flags = "g"): HashForm => ({
  hint,
  pattern: new RegExp(source, flags),
})

/** Each repetition is bounded or consumes its whole run, so that the time stays linear. */
const forms: readonly HashForm[] = [
  // bcrypt, also with the prefix of Django.
  form("$2", String.raw`\$2[abxy]?\$\d\d\$${salt}{50,60}`),
  // MD5, SHA-256 and SHA-512 of crypt; apr1 of Apache; types 5, 8 and 9 of Cisco.
  form("$", String.raw`\$(?:1|5|6|8|9|md5|sha1|apr1)\$(?:rounds=\d{1,9}\$)?${salt}{1,32}\$${salt}{20,88}`),
  // yescrypt, gost-yescrypt, scrypt of crypt.
  form("$", String.raw`\$(?:y|gy|7)\$${salt}{1,32}\$?${salt}{0,90}\$${salt}{40,90}`),
  form(
    "$argon2",
    String.raw`\$argon2(?:id|i|d)\$(?:v=\d{1,4}\$)?[\w=,]{5,60}\$${base64}{8,90}\$${base64}{16,180}`,
  ),
  form("$scrypt$", String.raw`\$scrypt\$[\w=,]{5,60}\$${base64}{8,90}={0,2}\$${base64}{16,180}={0,2}`),
  form(
    "$pbkdf2",
    String.raw`\$pbkdf2(?:-[\w-]{1,16})?\$[\w=,]{1,40}\$[./+A-Za-z0-9=]{8,90}\$[./+A-Za-z0-9=]{16,180}`,
  ),
  // Werkzeug, Django.
  form("scrypt:", String.raw`scrypt:\d{1,9}:\d{1,4}:\d{1,4}\$[\w./+=]{4,64}\$[\w./+=]{32,180}`),
  form("pbkdf2:", String.raw`pbkdf2:sha\d{1,3}(?::\d{1,9})?\$[\w./+=]{4,64}\$[\w./+=]{32,180}`),
  form("pbkdf2_", String.raw`pbkdf2_sha\d{1,3}\$\d{1,9}\$[\w./+=]{4,64}\$[\w./+=]{24,120}`),
  // WordPress, phpBB, Drupal.
  form("$", String.raw`\$[PHS]\$${salt}{28,60}`),
  // LDAP.
  form(
    "{",
    String.raw`\{(?:S?SHA\d{0,3}|S?MD5|CRYPT|BCRYPT|ARGON2|PBKDF2[\w-]{0,16})\}([^\s"'<>\\,;]{12,200})`,
    "gi",
  ),
  form("userPassword::", String.raw`userPassword::[ \t]{0,8}(${base64}{8,400}={0,2})`, "gi"),
  // MySQL, PostgreSQL, SQL Server.
  form("*", String.raw`(?<![\w*])\*[0-9A-F]{40}(?![0-9A-Za-z])`),
  form(
    "SCRAM-SHA-",
    String.raw`SCRAM-SHA-\d{1,3}\$\d{1,9}:${base64}{8,90}={0,2}\$${base64}{20,90}={0,2}:${base64}{20,90}={0,2}`,
  ),
  form("md5", String.raw`(?<=["'\x60])md5[0-9a-f]{32}(?=["'\x60])`),
  form("0x0", String.raw`(?<!\w)0x0[12]00[0-9A-Fa-f]{44,140}(?!\w)`),
  // Windows: dumps of the SAM, challenges, cached logons; Kerberos.
  form(":", String.raw`:\d{1,10}:[0-9a-fA-F]{32}:([0-9a-fA-F]{32})(?=:)`),
  form("::", String.raw`::[\w.-]{0,64}:[0-9a-fA-F]{16}:([0-9a-fA-F]{32,48}(?::[0-9a-fA-F]{8,2048})?)`),
  form("$DCC2$", String.raw`\$DCC2\$[^\s"']{20,200}`),
  form("$krb5", String.raw`\$krb5(?:tgs|asrep|pa)\$[^\s"']{32,8192}`),
  // GRUB, Cisco type 7.
  form("grub.pbkdf2.", String.raw`grub\.pbkdf2\.sha512\.\d{1,9}\.[0-9A-Fa-f]{32,1024}\.[0-9A-Fa-f]{32,1024}`),
  form("7 ", String.raw`(?:password|secret|key|md5) 7 ([0-9A-Fa-f]{6,128})(?!\w)`, "gi"),
  // A line of shadow, htpasswd or htdigest.
  form(":", String.raw`^[\w.-]{1,32}:(${salt}{13})(?=:\d{0,6}:\d{0,6}:\d{0,6}:)`, "gm"),
  form(
    ":",
    String.raw`^[\w.@-]{1,64}:(?=[./A-Za-z]{0,12}\d)(?=[./a-z0-9]{0,12}[A-Z])(${salt}{13})(?=[ \t\r]{0,4}$)`,
    "gm",
  ),
  form(":", String.raw`^[\w.@-]{1,64}:[\w. @-]{1,64}:([0-9a-f]{32})(?=[ \t\r]{0,4}$)`, "gm"),
  // Named hashes.
  form(
    "h",
    String.raw`(?:passw(?:or)?d|pass|pwd|pw)[_-]?(?:hash(?:ed)?|digest|salt|sha\d{1,3}|md5)\\{0,3}["'\x60\]]{0,2}[ \t]{0,8}(?:=>|:=|[=:])[ \t]{0,8}\\{0,3}["'\x60]{0,1}([0-9A-Fa-f]{16,256}|${base64}{20,256}={0,2})(?![\w/+])`,
    "gi",
  ),
]

/** Finds hashes of passwords: a reader could guess the password and compare. */
export function passwordHashSpans(text: string): TextSpan[] {
  return forms.flatMap(({ hint, pattern }) =>
    text.includes(hint)
      ? [...text.matchAll(pattern)].map((match) => matchEnd(match, match[1] ?? match[0]))
      : [],
  )
}
