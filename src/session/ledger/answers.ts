import { markedSentences, shorten } from "./sentences/prose.ts"
import { asksToSee, isQuestion } from "./sentences/questions.ts"
import { wordCount } from "./sentences/word-count.ts"

const questionLengthMax = 160
const answerLengthMax = 90
const answerWordsMax = 14
const shortQuestionLength = 60
const choicesMax = 8
const choiceLengthMax = 90
const askedLengthMax = 420

/**
 * The question at the end of the assistant's text, with all the choices that it offers. Undefined if the text ends
 * without a question, or with a question that has no content of its own.
 */
export function questionAtEnd(text: string): string | undefined {
  const sentences = markedSentences(text).slice(-2 * choicesMax)
  const end = sentences.length - 1
  const last = sentences[end]
  if (last === undefined) return undefined
  const isList = isChoiceLine(last)
  if (!isList && !isQuestion(last) && !(last.length <= shortQuestionLength && leavesChoice.test(last)))
    return undefined
  const listEnd = isList ? end : end - 1
  const listStart = startOfList(sentences, listEnd)
  if (listStart <= listEnd && (listStart < listEnd || !isList)) {
    const lead = leadOf(sentences, listStart)
    if (isList && (lead === undefined || !isQuestion(lead))) return undefined
    const items = sentences.slice(listStart, listEnd + 1).map((item) => shorten(item, choiceLengthMax))
    const asked = [...(lead ? [shorten(lead, questionLengthMax)] : []), ...items, ...(isList ? [] : [last])]
    return shorten(asked.reduce(joined), askedLengthMax)
  }
  return isList ? undefined : plainQuestion(sentences)
}

function plainQuestion(sentences: readonly string[]): string | undefined {
  const last = sentences.at(-1)!
  const before = withFirstChoice(sentences.at(-3), sentences.at(-2) ?? "")
  const question = shorten(last, questionLengthMax)
  const points = !hasSubstance(last) || (asksWhich.test(last) && wordCount(last) <= 6)
  if (points && last.length <= shortQuestionLength && (isChoice(before) || proposes.test(before)))
    return joined(shorten(before, 2 * questionLengthMax), question)
  return hasSubstance(last) ? question : undefined
}

function joined(first: string, second: string): string {
  return `${first}${/[\p{L}\p{N}`)）]$/u.test(first) ? "." : ""} ${second}`
}

const choiceLine =
  /^(?:[-*•–]\s*)?(?:\*\*)?[(（]?(?:[1-9]|[a-hA-H]|[一二三四五六]|①|②|③|④|option [1-9a-d]|方案[一二三四1-4A-D])(?:\*\*)?(?:[)）.、:：]|\s[-–—])\s*\S|^[-*•]\s+\S/i
const leavesChoice =
  /your (?:call|choice|pick|decision)|up to you|let me know|tell me which|你(?:定|选|决定|来定|挑|说了算)|听你的|哪[个种]/i

function isChoiceLine(sentence: string): boolean {
  return choiceLine.test(sentence)
}

/**
 * The index where the list that ends at `end` begins, or `end + 1` if there is no list. A line that continues a list
 * item belongs to that item.
 */
function startOfList(sentences: readonly string[], end: number): number {
  let start = end + 1
  for (let at = end; at >= Math.max(0, end - 2 * choicesMax); at--) {
    if (isChoiceLine(sentences[at]!)) start = at
    else if (at < end - 1 && start > at + 2) break
  }
  return start
}

/** The question, or the sentence, that introduces a list. */
function leadOf(sentences: readonly string[], listStart: number): string | undefined {
  const lead = sentences[listStart - 1]
  if (lead === undefined || isQuestion(lead)) return lead
  const before = sentences[listStart - 2]
  return before !== undefined && isQuestion(before) ? joined(before, lead) : lead
}

/** Joins two sentences if the second offers the second of two choices. */
function withFirstChoice(first: string | undefined, second: string): string {
  const isSecond =
    /^[(（]?[2bB二][)）.、:：]|^(?:or|alternatively|otherwise|the other|another|we could also|i could also)\b|^(?:也可以|或者|要么|另一|要不|另外|还可以)/i
  return first !== undefined && isSecond.test(second) ? joined(first, second) : second
}

const asksWhich =
  /\b(?:which|prefer\w*|either|one|what do you think|your (?:call|choice|pick))\b|哪|倾向|偏好|选|怎么看/i
const proposes =
  /\b(?:i|we) (?:could|would|can|might|plan|suggest|propose|intend|was going|am going|'d)\b|\bi'd\b|\boption|\bways?\b|打算|建议|可以用|准备|想用|方案|考虑/i

function isChoice(sentence: string): boolean {
  return /\bor\b|\b[AB1-3][).）]|[(（][1-3ABab][)）]|还是|或者|也可以|要么|方案|\b(?:two|both|either) (?:ways?|options?|choices?|possib\w+)|option/i.test(
    sentence,
  )
}

const emptyWords = new Set(
  "shall should may might can could would will do does did is are was i we you me us it this that these those they to go on continue proceed start begin now ahead ok okay fine good right sense make makes sound sounds look looks anything something else any more further next with the a an here there what how which one ones about of for in or and prefer preference have your like want need ready questions question thoughts idea work works so then let know think all call choice pick decision tell up".split(
    " ",
  ),
)
const emptyChinese =
  /要不要|可不可以|可以|是否|需要|继续|开始|接着|这样|往下|还有|别的|其他|问题|什么|怎么样|怎么|如何|哪个|哪种|倾向|偏好|觉得|选|行不行|好不好|要|我|你|吗|呢|吧|的|就|先|对|行|有|做|定/g

/** Whether a question says what it is about. "Shall I go on?" does not. */
function hasSubstance(question: string): boolean {
  const words =
    question
      .replace(emptyChinese, " ")
      .toLowerCase()
      .match(/\p{Script=Han}{2}|[\p{L}\p{N}']{2,}/gu) ?? []
  return words.some((word) => !emptyWords.has(word))
}

const answerStart =
  /^(?:yes|yep|yeah|no|nope|neither|both|either|none|all|(?:the )?(?:first|second|third|fourth|last|former|latter|other|1st|2nd|3rd|4th)|option|number|[a-d1-9][).,. ]|[a-d1-9]$|fine|ok|okay|sure|go with|rather|agreed|correct|right|instead|do|don't|use|keep|make it|take|pick|let's)\b|^(?:是|不|行|好|可以|可|都|两个|第[一二三四五]|前者|后者|[A-D1-9](?![\w.])|嗯|对|要|那就|那|就|用|先|别|没|同意|选|听|按|方案)/i
/** Answers that mean nothing without the choices that were offered. */
const byPosition =
  /^(?:(?:let's|go|take|pick|use|do|i'd|with|say|prefer|the|option|number|no\.?|#|choice|variant|plan) ?)*(?:first|second|third|fourth|last|former|latter|other|1st|2nd|3rd|4th|[a-d]|[1-9]|one|two|three|both|neither|either|none|all)\b|^(?:那?就?|我?选|要|用|方案|按)*(?:第?[一二三四五1-9A-Da-d](?![\w.])|前者|后者|都|两个|前一|后一|上面|下面)/i

/** Splits an answer such as "就第二种吧，顺便…" from the rest of its sentence, so that the answer is a sentence of its own. */
export function withAnswerApart(said: readonly string[]): string[] {
  const [first = "", ...others] = said
  const comma = first.indexOf("，")
  const isAnswer = comma >= 1 && (comma <= 4 || (comma <= 12 && byPosition.test(first)))
  return isAnswer ? [first.slice(0, comma), first.slice(comma + 1), ...others] : [...said]
}

/** The answer together with its question, if the answer means little without the question. */
export function answerTo(
  asked: string,
  { text, rank }: { text: string; rank: number },
): { text: string; rank: number } | undefined {
  if (text.length > answerLengthMax || isQuestion(text) || asksToSee(text)) return undefined
  const chooses = byPosition.test(text) && wordCount(text) <= 12
  const isLong = wordCount(text) > answerWordsMax
  if ((rank === 0 || isLong) && !chooses && !answerStart.test(text)) return undefined
  return {
    text: `${text} (asked: ${asked})`,
    rank: chooses ? Math.max(rank, 68) : rank === 0 ? 60 : Math.max(rank, 66),
  }
}
