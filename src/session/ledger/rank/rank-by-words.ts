import { mentionsCommand, mentionsOutcome } from "../calls/commands.ts"
import { namesIn, pathsIn } from "../names.ts"
import { amounts, choices, limits, openWork, settles, standing, weakLimits } from "../sentences/cues.ts"
import { asksToSee, isPolite, isQuestion, politeRequest } from "../sentences/questions.ts"
import { formGain, formLoss } from "../sentences/sentence-form.ts"
import { isChat, isGuess, isSmallTalk } from "../sentences/small-talk.ts"
import { wordCount } from "../sentences/word-count.ts"
import { workWords } from "../sentences/work-words.ts"

/** Ranks a user's sentence by how much it matters after the messages around it are gone. */
export function rankByWords(sentence: string): number {
  if (isSmallTalk(sentence)) return 0
  const text = sentence.replace(politeRequest, "")
  const seeks = asksToSee(sentence) || asksToSee(text)
  const asks = !isPolite(sentence) && isQuestion(sentence) && !reportsEnd(sentence)
  const statesFirst = asks && hasStatement(sentence)
  const tellsEnd = asks && mentionsCommand(sentence) && /\d/.test(sentence.replace(/`[^`]*`/g, " "))
  const base = tellsEnd ? 52 : statesFirst ? 40 : asks ? 16 : seeks ? 22 : 50
  const cues = Math.min(asks || seeks ? 20 : 26, cueSum(text))
  return Math.max(1, Math.min(90, base + cues - vagueness(text)))
}

/** "did `make check` just now, works" starts like a question but has no question mark: it is a report. */
function reportsEnd(sentence: string): boolean {
  return !/[?？]/.test(sentence) && mentionsCommand(sentence) && mentionsOutcome(sentence)
}

/** "It takes nine minutes here, is that normal?" makes a statement before its question. */
function hasStatement(question: string): boolean {
  const comma = Math.max(...[...",，;；—"].map((character) => question.lastIndexOf(character)))
  const head = question.slice(0, Math.max(0, comma)).trim()
  if (wordCount(head) < 4) return false
  return !/^(?:if|what|why|when|how|where|who|which|is|are|does|do|did|was|were|can|could|would|should|如果|要是|为什么|为啥|怎么|啥时候|什么时候|是不是|能不能)/i.test(
    head,
  )
}

/** A sentence about the speaker or the reader that sets no limit is mostly small talk. */
const personal =
  /\b(?:i|i'm|i've|i'd|i'll|my|me|mine|you|you're|you've|your|he|she|his|her)\b|[我你他她]|[!！]$/i
const personalLoss = 8

/** Names add little here, because the ledger keeps names by themselves. */
function cueSum(text: string): number {
  const strong =
    (limits.test(text) ? 12 : 0) +
    (choices.test(text) ? 8 : 0) +
    (settles.test(text) ? 8 : 0) +
    (openWork.test(text) ? 8 : 0) +
    (mentionsCommand(text) ? 9 : 0)
  let sum = strong
  if (weakLimits.test(text) && !limits.test(text)) sum += 3
  if (standing.test(text)) sum += 6
  if (amounts.test(text)) sum += 6
  if (workWords.test(text)) sum += 6
  if (namesIn(text).some(({ rank }) => rank >= 50) || pathsIn(text).length > 0) sum += 4
  sum += formGain(text) - (strong < 12 ? formLoss(text) : Math.round(formLoss(text) / 2))
  const binds = limits.test(text) && strong >= 20
  if (isChat(text)) return Math.min(sum, 12) - (reportsEnd(text) ? 8 : binds ? 16 : 24)
  if (isGuess(text) && !reportsEnd(text)) return Math.min(sum, 16) - 14
  if (isVagueChinese(text)) sum = Math.round(sum / 2) - 4
  return strong < 12 && personal.test(text) ? sum - personalLoss : sum
}

/**
 * Chinese words in the lists are short and are part of many other words. Without a work word or a name they count half.
 */
function isVagueChinese(text: string): boolean {
  return /\p{Script=Han}/u.test(text) && !workWords.test(text) && !/[A-Za-z\d]/.test(text)
}

/** A sentence of a few plain words, such as "that looks odd", means nothing without the message that it answered. */
function vagueness(text: string): number {
  if (limits.test(text) || openWork.test(text)) return 0
  const words = wordCount(text)
  if (words <= 2) return 4
  const points = /^(?:it|this|that|these|those|he|she|they)\b|^(?:这|那)(?:个|样|里)?/i.test(text)
  return points && words < 8 ? 8 : 0
}
