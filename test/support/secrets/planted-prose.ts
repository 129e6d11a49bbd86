import type { Planted, SecretSource } from "./secret-source.ts"

type Line = (password: string) => string

/** Sentences in which the password stands bare. */
const english: Line[] = [
  (p) => `The password is ${p}`,
  (p) => `the password is ${p}.`,
  (p) => `My password is "${p}", do not tell anybody.`,
  (p) => `The admin password was ${p}, I have changed it.`,
  (p) => `the password for the staging server is ${p}`,
  (p) => `Password for jane@example.org is now ${p}.`,
  (p) => `I set the password to ${p}.`,
  (p) => `The root password has been changed to ${p}`,
  (p) => `Reset the password to \`${p}\` and try again.`,
  (p) => `pw: ${p}`,
  (p) => `PW = ${p}`,
  (p) => `p/w: ${p}`,
  (p) => `user: jane, pw: ${p}`,
  (p) => `pass: ${p}`,
  (p) => `username jane password ${p}`,
  (p) => `Log in as admin with the password ${p}`,
  (p) => `use password ${p} for the database`,
  (p) => `login: admin / ${p}`,
  (p) => `credentials: admin:${p}`,
  (p) => `creds are admin/${p}`,
  (p) => `Sign in with jane@example.org / ${p}.`,
  (p) => `"${p}" is the password`,
  (p) => `${p} is my password`,
  (p) => `My passphrase is ${p}.`,
  (p) => `The passcode is ${p}`,
  (p) => `wifi password -> ${p}`,
  (p) => `Password → ${p}`,
  (p) => `Password - ${p}`,
  (p) => `The temporary password will be ${p}`,
  (p) => `here's the password: ${p}`,
  (p) => `PASSWORD IS ${p}`,
  (p) => `Its password should be ${p}, I think.`,
  (p) => `password (staging): ${p}`,
  (p) => `Password for root: ${p}`,
  (p) => `enter ${p} as the password`,
  (p) => `the password's ${p}`,
  (p) => `**Password** is **${p}**`,
]

const englishKeys: Line[] = [
  (k) => `the token is ${k}`,
  (k) => `My API key is ${k}.`,
  (k) => `the secret is "${k}"`,
  (k) => `the client secret for prod was ${k}, rotate it`,
  (k) => `access key ${k} is still valid`,
  (k) => `here is the key: ${k}`,
  (k) => `The license key is ${k}`,
  (k) => `use the token ${k} for CI`,
]

const chinese: Line[] = [
  (p) => `密码是 ${p}`,
  (p) => `密码是${p}。`,
  (p) => `数据库密码为 ${p}，请保密`,
  (p) => `密码:${p}`,
  (p) => `密码：${p}`,
  (p) => `口令: ${p}`,
  (p) => `口令是${p}`,
  (p) => `管理员的密码是「${p}」`,
  (p) => `密码已经改成 ${p} 了`,
  (p) => `密码改为${p}`,
  (p) => `我把密码设置为 ${p}，记得更新配置。`,
  (p) => `初始密码就是 ${p}`,
  (p) => `服务器的登录密码目前是 ${p}。`,
  (p) => `用户名 admin，密码 ${p}`,
  (p) => `账号：jane 密码：${p}`,
  (p) => `账号/密码：admin/${p}`,
  (p) => `用 ${p} 作为密码登录`,
  (p) => `${p} 是密码`,
  (p) => `请用密码 ${p} 登录后台`,
  (p) => `密码=${p}`,
  (p) => `解压密码：${p}`,
  (p) => `WiFi密码是${p}`,
  (p) => `暗号是 ${p}`,
  (p) => `密碼是 ${p}`,
  (p) => `新的密码（临时）：${p}`,
  (p) => `root 的密码重置为 ${p}`,
  (p) => `密码还是 ${p} 没变`,
  (p) => `登录密码 -> ${p}`,
]

const chineseKeys: Line[] = [
  (k) => `密钥为 ${k}`,
  (k) => `密钥：${k}`,
  (k) => `访问令牌是 ${k}`,
  (k) => `接口的 token 是 ${k}`,
  (k) => `API 密钥是：${k}`,
  (k) => `秘钥为${k}，不要外传`,
  (k) => `私钥是 ${k}`,
  (k) => `授权码：${k}`,
]

export function plantedEnglish(s: SecretSource): Planted[] {
  return [
    ...english.flatMap((line) => planted(line, [s.password(), s.plainPassword(), s.letters()])),
    ...englishKeys.flatMap((line) => planted(line, [s.word(20), s.hex(32)])),
    ...planted((p) => `The passphrase is "${p}".`, ["correct horse battery staple"]),
    ...planted((p) => `passphrase: ${p}\n`, ["lunar carpet basket engine"]),
    ...planted(
      (p) => `My seed phrase is ${p}.`,
      ["abandon ability able about above absent absorb abstract absurd abuse access accident"],
    ),
    ...planted((p) => `The PIN is ${p}.`, [s.digits(4), s.digits(6)]),
    ...planted((p) => `your verification code is ${p}`, [s.digits(6)]),
  ]
}

export function plantedChinese(s: SecretSource): Planted[] {
  return [
    ...chinese.flatMap((line) => planted(line, [s.password(), s.plainPassword(), s.letters()])),
    ...chineseKeys.flatMap((line) => planted(line, [s.word(20), s.hex(32)])),
    ...planted((p) => `验证码是 ${p}`, [s.digits(6)]),
    ...planted((p) => `密码是${p}`, [s.digits(6)]),
  ]
}

function planted(line: Line, secrets: readonly string[]): Planted[] {
  return secrets.map((secret) => ({ text: line(secret), secret }))
}
