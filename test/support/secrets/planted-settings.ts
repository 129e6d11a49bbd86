import type { Planted, SecretSource } from "./secret-source.ts"

type Line = (password: string) => string

/** Settings of programs that a name announces. */
const passwords: Line[] = [
  (p) => `DB_PASSWORD=${p}`,
  (p) => `export SMTP_PASS='${p}'`,
  (p) => `spring.datasource.password=${p}`,
  (p) => `"password": "${p}"`,
  (p) => `  password: '${p}'`,
  (p) => `requirepass ${p}`,
  (p) => `masterauth ${p}`,
  (p) => `machine host login jane password ${p}`,
  (p) => `postgres://app:${encodeURIComponent(p)}@db/main`,
  (p) => `pass = ${p}`,
  (p) => `bindpw ${p}`,
  (p) => `rootpw {plain}${p}`,
  (p) => `wpa_passphrase=${p}`,
  (p) => `psk="${p}"`,
  (p) => `db:5432:main:app:${p}`,
  (p) => `<password>${p}</password>`,
  (p) => `Server=db;User Id=sa;Password=${p};Encrypt=true`,
  (p) => `auth-user-pass jane ${p}`,
  (p) => `ansible_become_password: ${p}`,
  (p) => `--password ${p}`,
  (p) => `username=jane&password=${encodeURIComponent(p)}&next=1`,
  (p) => `Proxy-Authorization: Basic ${Buffer.from(`jane:${p}`).toString("base64")}`,
]

const keys: Line[] = [
  (k) => `x-api-key: ${k}`,
  (k) => `Authorization: Bearer ${k}`,
  (k) => `"access_token": "${k}",`,
  (k) => `PrivateKey = ${k}`,
  (k) => `PresharedKey = ${k}`,
  (k) => `_authToken=${k}`,
  (k) => `https://a.example/cb?code=1&client_secret=${k}`,
  (k) => `Cookie: sid=${k}`,
  (k) => `oauth_token: ${k}`,
  (k) => `token = "${k}"`,
  (k) => `SECRET_KEY_BASE=${k}`,
  (k) => `hmac_secret: ${k}`,
]

export function plantedSettings(s: SecretSource): Planted[] {
  const plain = passwords.flatMap((line) => {
    const password = s.plainPassword()
    const letters = s.letters()
    return [password, letters].map((secret) => {
      const login = Buffer.from(`jane:${secret}`).toString("base64")
      const text = line(secret)
      return { text, secret: text.includes(login) ? login : secret }
    })
  })
  const random = keys.flatMap((line) =>
    [s.word(24), s.base64(32), s.hex(40)].map((key) => ({ text: line(key), secret: key })),
  )
  return [...plain, ...random]
}
