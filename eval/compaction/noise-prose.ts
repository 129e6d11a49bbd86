import { heldOutExplanations, heldOutNoise } from "./phrasings/held-out-noise.ts"
import { openExplanations, openNoise } from "./phrasings/open-noise.ts"
import type { Half, Language } from "./phrasings/phrasing.ts"

export const userNoise: Record<Half, Record<Language, readonly string[]>> = {
  open: openNoise,
  "held-out": heldOutNoise,
}

export const assistantNoise: Record<Half, Record<Language, readonly string[]>> = {
  open: openExplanations,
  "held-out": heldOutExplanations,
}

/** Short-lived entries of todo lists. */
export const passingTodos: Record<Language, readonly string[]> = {
  en: [
    "Read {path}",
    "Find the callers of {fn}",
    "Reproduce the failure of {fn}",
    "Compare {fn} with {fn2}",
    "Look through the log of {host}",
    "Explain {fn} to the user",
    "Check the types in {path}",
    "Try a smaller page size in {path}",
  ],
  zh: [
    "阅读 {path}",
    "找出 {fn} 的调用方",
    "复现 {fn} 的失败",
    "比较 {fn} 和 {fn2}",
    "查看 {host} 的日志",
    "向用户解释 {fn} 的缓存",
    "检查 {path} 的类型",
    "在 {path} 里试更小的分页",
  ],
}
