import { describe, expect, test } from "vitest"
import { createSharedMask } from "./mask-shared.ts"
import { hex, noise } from "./samples.ts"

const mask = createSharedMask({ values: [], paths: [] })
const million = 1_000_000

/** Pieces of each form that is searched for. Each one is repeated to a million units. */
const pieces: Record<string, string[]> = {
  "keys of services": [
    "ghp_",
    `ghp_${noise(20)} `,
    "sl.a1",
    "pat1.",
    "EAA1",
    "1/1234567890123456:",
    "123456789012345|a",
    "00aA1",
    "sk.eyJaaaaaaaa.",
    "https://hooks.slack.com/services/",
    "datadog: ",
    "datadog datadog",
    `datadog_a: ${hex(14)} `,
  ],
  "random text": [
    "aB1",
    "aB1/",
    "aB1+",
    "aB1%2F",
    `${noise(30)} `,
    `${noise(30)}/`,
    "-----BEGIN PUBLIC KEY-----\n",
  ],
  hashes: [
    "$2b$10$",
    "$6$a$",
    "$y$j9T$",
    "$argon2id$v=19$m=1,t=1,p=1$",
    "{SSHA}",
    "a:1:",
    "::a:",
    "pbkdf2:sha256$",
    "*A1",
  ],
  commands: [
    "mysql ",
    "mysql -p",
    "mysql -p' ",
    "mysql 'a",
    "redis-cli -a -a ",
    "docker login -p ",
    "net user a ",
    "openssl -pass pass:",
    "mysql\\\n",
    "-password ",
    "--a-b-c-pass=",
    "--pass ",
    "echo a | ",
    "echo a:b | chpasswd ",
    "printf '%s' ",
    "mysql redis-cli sshpass unzip sqlcmd docker net vault htpasswd curl ",
    "mysql;",
  ],
  SQL: [
    "IDENTIFIED BY ",
    "IDENTIFIED WITH a ",
    "PASSWORD ",
    "PASSWORD = ",
    "PASSWORD('",
    "INSERT INTO a (password) VALUES (",
    "INSERT INTO a (password) VALUES ('a'),(",
    "INSERT INTO ",
    "ACL SETUSER a ",
  ],
  forms: [
    "<input ",
    '<input type="password" value="',
    "<input a=b ",
    "<textarea name='password'",
    "define('a_password', ",
    "'password', ",
    "login('a', ",
    ".login(",
    "new PDO('a', ",
    "'password').fill(",
    "CURLOPT_USERPWD, ",
  ],
  tables: [
    "| password ",
    "password,",
    "password\n",
    "a,password\nb,c\n",
    "| a | password |\n|---|---|\n",
    "password\tb\n",
    "password  b  ",
    "<tr><th>password",
    "<td>",
  ],
  "broken lines": [
    "aB1aB1\n",
    `${noise(20)}\n`,
    `${noise(20)}" +\n  "`,
    `${noise(20)}\\n`,
    "a1\n> ",
    "aB1aB1 \\\n",
  ],
  English: [
    "password ",
    "password is ",
    "the password for ",
    "password for a ",
    "password (",
    "password -> ",
    "login: a / ",
    "is the password ",
    "aaaaaa is ",
    "passphrase is ",
    "passphrase: aa bb cc ",
    "PIN is ",
    "the password to ",
    "password 's",
  ],
  Chinese: ["密码", "密码是", "密码 a", "密码（", "a是密码", "aaaa作为", "密码已经改成", "，"],
  "config files": [
    "requirepass ",
    "psk=",
    "host=a ",
    "host=a;user=b;",
    "password=a;",
    "a:1:b:c:",
    "AUTH ",
    'send "',
    "_AUTH=",
  ],
  escapes: ['\\"', "\\n", '\\n\\"password\\": \\"', "\\u0070"],
}

describe("the time is linear in the length of a text", () => {
  // Processor time, with a margin for a slow machine: a pattern that is not linear takes minutes.
  test.each(Object.entries(pieces))(
    "a million units of each of %s",
    (_, all) => {
      for (const piece of all) {
        const before = process.cpuUsage()
        mask([piece.repeat(Math.ceil(million / piece.length))])
        const { user, system } = process.cpuUsage(before)
        expect((user + system) / 1000, JSON.stringify(piece)).toBeLessThan(6000)
      }
    },
    120_000,
  )

  test("50,000 units of a run after each beginning", () => {
    const beginnings = Object.values(pieces).flat()
    for (const beginning of beginnings) {
      const before = process.cpuUsage()
      for (const filling of ["a", "1", "aB1", " a", "A_", "'a"]) {
        mask([beginning + filling.repeat(Math.ceil(million / 20 / filling.length))])
      }
      const { user, system } = process.cpuUsage(before)
      expect((user + system) / 1000, JSON.stringify(beginning)).toBeLessThan(4000)
    }
  }, 120_000)
})
