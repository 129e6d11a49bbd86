import { describe, expect, test } from "vitest"
import { rankAssistantSentence } from "./rank-assistant.ts"
import { rankUserSentence } from "./rank-user.ts"

const rank = (sentence: string) => rankUserSentence(sentence).rank

describe("a plain statement", () => {
  const statements = [
    "rounding is half-even on every invoice line",
    "one table per tenant",
    "drafts live in the browser, nothing server side",
    "the carousel goes away",
    "tests that sleep get rejected",
    "jot this down: the dashboards need new thresholds",
    "一个租户一张表",
    "轮播图砍掉，图标自己画",
    "先做深色，浅色在上面盖一层",
    "报表凌晨三点出",
    "线上库只读",
    "记一笔，看板的阈值演示完再收拾",
  ]
  const besides = [
    "someone on reddit claims Redis 4.1.2 was a mess, true?",
    "what does line 40 of src/net/retry.ts do",
    "brb, the dog wants out",
    "haha, src/net/retry.ts again, what a name",
    "I read https://example.com/a last night, good stuff",
    "maybe PAY-812 is just slow, hard to tell",
    "src/net/retry.ts 第 40 行那块在干嘛",
    "网上说 Redis 4.1.2 坑挺多的，真的假的",
    "PAY-812 后来回了没",
    "说实话 src/net/retry.ts 我就扫了一眼",
    "娃发烧了，可能随时掉线",
    "昨晚看了 https://example.com/a，写得不错",
  ]
  test.each(statements)("%j outranks questions and small talk, whatever names they contain", (statement) => {
    for (const beside of besides) expect([beside, rank(statement) > rank(beside)]).toEqual([beside, true])
  })

  test.each(["thx!!", "you're on fire today", "great catch, thanks", "谢啦", "牛的", "辛苦辛苦", "666"])(
    "%j is not kept",
    (talk) => {
      expect(rank(talk)).toBe(0)
    },
  )
})

describe("a negation before a request", () => {
  const requests = ["print the first rows", "show me the diff", "打印前二十行", "把调用的地方列出来看看"]
  test.each([
    "never print customer names",
    "print nothing to stdout, it's a pipe",
    "不准打印用户手机号",
    "日志里谁都不许打印身份证",
    "不要列出内部接口",
    "别打开生产库",
  ])("makes a rule of %j", (rule) => {
    expect(rankUserSentence(rule)).toMatchObject({ states: true })
    expect(rank(rule)).toBeGreaterThan(Math.max(...requests.map(rank)) + 10)
  })

  test.each(requests)("is missing in %j", (request) => {
    expect(rank(request)).toBeLessThan(40)
  })
})

describe("clauses that are run together", () => {
  test.each([
    ["不准打印手机号，这是底线", "不准打印手机号，这是底线"],
    ["哈哈，缓存每个进程各存各的，src/a.ts 是干嘛的？", "缓存每个进程各存各的"],
    ["先看看日志，金额一律按分存，因为老系统也这样", "金额一律按分存，因为老系统也这样"],
    ["我去倒杯水，谁都不许动 main 分支，没得商量", "谁都不许动 main 分支，没得商量"],
  ])("of %j are kept as %j", (sentence, kept) => {
    expect(rankUserSentence(sentence).text).toBe(kept)
  })
})

describe("what the assistant leaves open", () => {
  test.each([
    "Nobody has written the down migration",
    "One loose end: the retry budget is hard coded",
    "The importer half is for the next session",
    "I could not verify the upload from a phone",
    "Safari 那种情况没碰",
    "有个尾巴：重试次数写死了",
    "导入那一半放下一轮",
    "手机上传这块我验证不了",
  ])("%j outranks its explanations", (left) => {
    for (const explanation of [
      "`loadOrder` hands its input to `saveOrder` without looking at it",
      "The timer fires every 40 ms regardless of load",
      "One could use Redis for that, or do without",
      "`loadOrder` 原样把参数交给 `saveOrder`",
      "定时器每 40 毫秒触发一次，和负载无关",
    ])
      expect(rankAssistantSentence(left).said).toBeGreaterThan(rankAssistantSentence(explanation).said)
  })
})
