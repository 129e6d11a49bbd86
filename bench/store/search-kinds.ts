import type { SearchQuery } from "../../src/stores/store.ts"

/** A word that the corpus has in a known share of its parts. */
export interface Plant {
  text: string
  /** A share of all parts; or a number of parts in all. */
  share: number | { parts: number }
  /** Only in parts of this kind; in all parts by default. */
  only?: "english" | "chinese" | "tool"
}

const prefixFamily = ["ate", "ates", "ated", "ating", "ation", "ations", "ator", "ators", "ative", "able"]

export const plants: readonly Plant[] = [
  { text: "quarterly", share: 0.25 },
  { text: "tenfold", share: 0.1 },
  { text: "hundredth", share: 0.01 },
  { text: "zephyrine", share: { parts: 20 } },
  { text: "leftward and rightward", share: { parts: 20 } },
  ...prefixFamily.map((ending): Plant => ({ text: `calibr${ending}`, share: 0.01 / prefixFamily.length })),
  { text: "could not be opened", share: 0.001, only: "english" },
  { text: "openReplicaCursor", share: 0.0005 },
  { text: "mergeReplicaState", share: 0.002 },
  { text: "max_retry_count", share: 0.0005 },
  { text: "48211", share: 0.0005 },
  { text: "src/stores/sqlite/commit/writer.ts", share: 0.0005 },
  { text: "src/core/index.ts", share: 0.0005 },
  { text: "ECONNREFUSED", share: 0.005, only: "tool" },
  { text: "鹦鹉", share: 0.002, only: "chinese" },
  { text: "图书馆", share: 0.002, only: "chinese" },
  { text: "数据库连接池", share: 0.002, only: "chinese" },
]

/** Two words of which each part has at most one, except the parts with the plant that has both. */
export const exclusive = { words: ["leftward", "rightward"], share: 0.05 } as const

export interface SearchKindCase {
  name: string
  query: Omit<SearchQuery, "order">
  /** A query without hits is correct. */
  absent?: boolean
}

/** The kinds of query that are timed. `sessionID` is an old session, so that its hits are far from the newest. */
export function searchKinds(scope: { sessionID: string; projectID: string }): SearchKindCase[] {
  return [
    { name: "rare word", query: { text: "zephyrine" } },
    { name: "word in 1 %", query: { text: "hundredth" } },
    { name: "word in every fourth part", query: { text: "quarterly" } },
    { name: "two words, both common", query: { text: "quarterly tenfold" } },
    { name: "two words, one rare", query: { text: "quarterly zephyrine" } },
    { name: "two words, rarely together", query: { text: "leftward rightward" } },
    { name: "prefix", query: { text: "calib*" } },
    { name: "prefix of three letters, common", query: { text: "con*" } },
    { name: "Chinese, 2 characters", query: { text: "鹦鹉" } },
    { name: "Chinese, 2 characters, common", query: { text: "数据" } },
    { name: "Chinese, 3 characters", query: { text: "图书馆" } },
    { name: "Chinese, 6 characters", query: { text: "数据库连接池" } },
    { name: "path", query: { text: "src/stores/sqlite/commit/writer.ts" } },
    { name: "path of common pieces", query: { text: "src/core/index.ts" } },
    { name: "camelCase name", query: { text: "openReplicaCursor" } },
    { name: "hump of a camelCase name", query: { text: "Replica" } },
    { name: "quoted phrase", query: { text: '"could not be opened"' } },
    { name: "identifier with _", query: { text: "max_retry_count" } },
    { name: "number", query: { text: "48211" } },
    { name: "word of tool output", query: { text: "ECONNREFUSED" } },
    { name: "within an old session", query: { text: "quarterly", sessionID: scope.sessionID } },
    { name: "within a project", query: { text: "quarterly", projectID: scope.projectID } },
    { name: "no hit", query: { text: "xylotomous" }, absent: true },
  ]
}
