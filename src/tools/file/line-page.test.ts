import { expect, test } from "vitest"
import { readPage } from "./line-page.ts"

const page = (
  text: string | Uint8Array,
  options: { offset?: number; limit?: number; bytesMax?: number; chunk?: number } = {},
) => {
  const bytes = Buffer.from(text)
  const { chunk = bytes.length, ...rest } = options
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; at += chunk) chunks.push(bytes.subarray(at, at + chunk))
  return readPage(chunks, { offset: 1, limit: 2_000, bytesMax: 50_000, ...rest })
}

test.each([1, 2, 3, 7, 1_000])("lines are found in chunks of %i bytes", async (chunk) => {
  const found = await page("\ufeffone\r\nzwölf\n\n字😀\nlast", { chunk })
  expect(found).toEqual({
    lines: ["00001| one", "00002| zwölf", "00003| ", "00004| 字😀", "00005| last"],
    total: 5,
    complete: true,
  })
})

test("a page begins at the offset, has at most `limit` lines, and all lines are counted", async () => {
  const text = Array.from({ length: 50 }, (_, i) => `l${i + 1}`).join("\n")
  expect(await page(text, { offset: 10, limit: 2 })).toEqual({
    lines: ["00010| l10", "00011| l11"],
    total: 50,
    complete: true,
  })
  expect((await page(text, { offset: 51 })).lines).toEqual([])
})

test("a page stays within its byte limit, but has at least one line", async () => {
  const text = `${"x".repeat(93)}\n`.repeat(10)
  expect((await page(text, { bytesMax: 350 })).lines).toHaveLength(3)
  expect((await page(text, { bytesMax: 10 })).lines).toHaveLength(1)
})

test("a long line is cut between characters and says how long it is", async () => {
  const [line] = (await page("a😀".repeat(5_000), { chunk: 999 })).lines
  expect(line).toMatch(/^00001\| (a😀)+a?… \(line cut: it has 25000 bytes\)$/u)
  expect(line!.isWellFormed()).toBe(true)
  expect(line!.length).toBeLessThan(2_060)
})

test("a line of exactly 2,000 characters is whole", async () => {
  expect((await page(`${"é".repeat(2_000)}\nx`)).lines[0]).toBe(`00001| ${"é".repeat(2_000)}`)
})

test("an endless text is not read to its end", async () => {
  let given = 0
  function* endless() {
    const chunk = Buffer.alloc(1024 * 1024, "abcdefg\n")
    for (;;) {
      given++
      yield chunk
    }
  }
  const found = await readPage(endless(), { offset: 1, limit: 3, bytesMax: 1_000 })
  expect(found.lines).toHaveLength(3)
  expect(found.complete).toBe(false)
  expect(given).toBeLessThan(100)
})
