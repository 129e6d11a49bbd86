import { creator, rules } from "@secretlint/secretlint-rule-preset-recommend"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { createSharedMask } from "../../src/server/share/mask/mask-shared.ts"
import { testSeed } from "../support/seed.ts"

const mask = createSharedMask({ values: [], paths: [] })
const { seed } = testSeed("keys of the maintained rules")

/**
 * The patterns that a rule searches with. A rule is given a text that records each pattern, so that no list of them is
 * kept here: a rule that a new version of the preset brings is tested without any change.
 */
async function patternsOf(rule: (typeof rules)[number]): Promise<RegExp[]> {
  const patterns: RegExp[] = []
  const content = Object.assign(new String("nothing"), {
    matchAll(pattern: RegExp) {
      patterns.push(pattern)
      return [].values()
    },
  })
  const context = { report() {}, ignore() {}, createTranslator: () => () => ({}) }
  const created = rule.create(context as never, {})
  await created.file?.({ filePath: "a.txt", content, ext: ".txt", contentType: "text" } as never)
  return patterns
}

const random = "aB3dE5fGh7JkL9mNpQ2rStU4vWxYz6aB3dE5fGh7"

/** Rules without a pattern, or with one that also fits texts that nobody writes: each with a sample, if it finds secrets. */
const others: Record<string, string | undefined> = {
  "@secretlint/secretlint-rule-basicauth": "https://jane:granite7@example.org/x",
  "@secretlint/secretlint-rule-slack": `xoxb-123456789012-${random.slice(0, 24)}`,
  "@secretlint/secretlint-rule-aws": `aws_secret_access_key = ${random}`,
  "@secretlint/secretlint-rule-privatekey": `-----BEGIN PRIVATE KEY-----\n${random}${random}${random}\n-----END PRIVATE KEY-----`,
  "@secretlint/secretlint-rule-database-connection-string":
    "mongodb+srv://app:granite7@db.example.org/main?w=1",
  // Reads only whole files of service accounts.
  "@secretlint/secretlint-rule-gcp": `"private_key": "-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\\n-----END PRIVATE KEY-----\\n"`,
  // Switches other rules off.
  "@secretlint/secretlint-rule-filter-comments": undefined,
}

/**
 * `fast-check` makes texts for a pattern without assertions. Signs within keys are left out, because it draws them far
 * more often than a service does.
 */
function withoutAssertions({ source }: RegExp): RegExp {
  const plain = source
    .replace(/\(\?<?[!=](?:[^()[\]\\]|\\.|\\p\{L\}|\[(?:[^\]\\]|\\.)*\])*\)/g, "")
    .replaceAll("\\b", "")
    .replaceAll("\\w", "[A-Za-z0-9]")
    .replace(/\[([^\]]*?[A-Za-z0-9])[_+/=-]{1,3}\]/g, "[$1]")
  return new RegExp(`^(?:${plain})$`)
}

describe("every secret that the rules of secretlint find is masked", () => {
  test("the preset has rules", () => {
    expect(creator.meta.type).toBe("preset")
    expect(rules.length).toBeGreaterThan(20)
  })

  test.each(rules.map((rule) => [rule.meta.id, rule] as const))("%s", async (id, rule) => {
    const patterns = id in others ? [] : await patternsOf(rule)
    if (id in others) {
      const sample = others[id]
      if (sample !== undefined) expect(mask([sample])[0]).toContain("[redacted]")
      return
    }
    expect(patterns.length, `Write a sample of a secret for the rule ${id}.`).toBeGreaterThan(0)
    const samples = patterns.flatMap((pattern) => {
      const texts = fc.noBias(fc.stringMatching(withoutAssertions(pattern)))
      return fc.sample(texts, { seed, numRuns: 1000 }).filter(isLikeAKey)
    })
    expect(samples.length).toBeGreaterThan(0)
    expect(samples.filter((sample) => !mask([`use ${sample} here`])[0]!.includes("[redacted]"))).toEqual([])
  })
})

/** Patterns also make texts such as `sk_live_aaaaaaaa`, which no service gives out. */
function isLikeAKey(text: string): boolean {
  const longest = text.match(/[A-Za-z0-9]{14,}/g)?.at(-1) ?? ""
  return text.length >= 24 && new Set(longest).size >= 8 && /\d|[a-z][A-Z]/.test(longest)
}
