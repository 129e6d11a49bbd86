import { answerTo, questionAtEnd, withAnswerApart } from "./answers.ts"
import { mentionsCommand, mentionsOutcome } from "./calls/commands.ts"
import { fileRanks, noteOf } from "./calls/tool-facts.ts"
import type { Facts } from "./collect.ts"
import { type Name, namesIn, pathsIn } from "./names.ts"
import { rankAssistantSentence, reportsChange } from "./rank/rank-assistant.ts"
import { rankUserSentence } from "./rank/rank-user.ts"
import { limits, outcomes } from "./sentences/cues.ts"
import { pastedLines, sentences } from "./sentences/prose.ts"
import { wordCount } from "./sentences/word-count.ts"

interface TextOptions {
  within: (path: string) => string
  /** The text is from the user's last message. */
  newest?: boolean
}

/** A message with more sentences than people type is a pasted document. */
const typedSentencesMax = 16
const newestTextsMax = 8
const keptLengthMax = 260
const joinedRankMin = 42
/** A name in a question, or in a sentence that matters little, ranks lower than a name in a statement. */
const plainRankMin = 46
const asideNameLoss = 28
/** Only a user's sentence with at least this rank counts as a statement that a file was changed. */
const changeRankMin = 38
/** A name that certainly means one thing loses less rank in such a sentence. */
const sureNameRank = 76
const sureNameLoss = 14
/** Names in the assistant's text rank lower than the user's: its explanations are full of versions and functions. */
const assistantNameLoss = 22
/** The name that a sentence is about comes last in it: "the build that broke it is 4711". */
const lastNameGain = 12

function comesLast(sentence: string, value: string): boolean {
  const after = sentence.slice(sentence.lastIndexOf(value) + value.length)
  return sentence.length > value.length && !/[\p{L}\p{N}]/u.test(after)
}

export function userFacts(text: string, facts: Facts, { within, newest = false }: TextOptions): void {
  const said = facts.asked === undefined ? sentences(text) : withAnswerApart(sentences(text))
  const pasted = Math.min(30, Math.max(0, said.length - typedSentencesMax))
  const judged = said.map(rankUserSentence)
  for (const [index, sentence] of said.entries()) {
    const { states, rank } = judged[index]!
    const isPlain = rank >= plainRankMin
    addMentions(sentence, facts, {
      within,
      states: states && rank >= changeRankMin && pasted === 0,
      nameRankMax: pasted > 0 ? 50 : 100,
      nameLoss: isPlain ? 0 : asideNameLoss,
    })
  }
  for (const [index, kept] of keptTexts(judged, facts.asked).entries()) {
    const rank = Math.max(1, kept.rank - pasted)
    facts.said(kept.text, { rank, newest: newest && index < newestTextsMax })
  }
  facts.asked = undefined
  pastedNames(text, facts)
}

/** The sentences of an old message that forbid, demand or limit something: they may still hold. */
export function farUserFacts(text: string, facts: Facts, { within }: TextOptions): void {
  facts.asked = undefined
  if (!limits.test(text)) return
  const said = sentences(text)
  if (said.length > typedSentencesMax) return
  for (const sentence of said) {
    if (!limits.test(sentence)) continue
    const { rank, states, text: kept } = rankUserSentence(sentence)
    if (rank < plainRankMin || !states) continue
    addMentions(sentence, facts, { within, states, nameRankMax: 100 })
    facts.said(kept, { rank })
  }
}

const pastedNamesMax = 6

/** Names in pasted text rank high only if they are few. */
function pastedNames(text: string, facts: Facts): void {
  const lines = pastedLines(text).slice(0, 40)
  const found = lines.flatMap((line) => namesIn(line.slice(0, 300)).filter(({ rank }) => rank >= 62))
  const rankMax = found.length <= pastedNamesMax ? 48 : 12
  for (const line of lines) addNames(line.slice(0, 300), facts, { rankMin: 62, rankMax })
}

interface KeptText {
  text: string
  rank: number
}

interface RankedSentence extends KeptText {
  states: boolean
}

/** Joins a sentence that depends on the one before with that one, and an answer with its question. */
function keptTexts(said: readonly RankedSentence[], asked: string | undefined): KeptText[] {
  const entries: KeptText[] = []
  for (const [index, sentence] of said.entries()) {
    const { text, rank } = sentence
    const before = said[index - 1]
    const last = entries.at(-1)
    const answer = before === undefined && asked !== undefined ? answerTo(asked, sentence) : undefined
    if (answer !== undefined) entries.push(answer)
    else if (rank === 0) continue
    else if (
      before &&
      last?.text.includes(before.text) &&
      dependsOn(sentence, before) &&
      hasRoom(last, text)
    ) {
      last.text += `${gapAfter(last.text)}${text}`
      last.rank = Math.max(last.rank, rank)
    } else entries.push({ text, rank })
  }
  return entries
}

function dependsOn(sentence: RankedSentence, before: RankedSentence): boolean {
  const bothState = (before.states || before.rank === 0) && sentence.states
  return bothState && sentence.rank >= joinedRankMin && isDependent(sentence.text, before.text)
}

function hasRoom(kept: KeptText, text: string): boolean {
  return kept.text.length + text.length < keptLengthMax
}

function gapAfter(text: string): string {
  if (/[?？!！:：)）]$/.test(text)) return " "
  return /\p{Script=Han}$/u.test(text) ? "。" : ". "
}

const leaningStart =
  /^(?:and|but|or|so|it|its|it's|this|that|that's|these|those|they|both|neither|either|same|then|otherwise|because|since|at all|ever|period|settled|done|except|unless|instead|keep|result|reason|which|also)\b|^(?:但|不过|而且|所以|因为|否则|不然|然后|它|这|那|都|就|结果|原因|两|同样)/i

function isDependent(sentence: string, before: string): boolean {
  const words = wordCount(sentence)
  const isShort = words <= (/\p{Script=Han}/u.test(sentence) ? 2 : 5)
  return isShort || wordCount(before) < 3 || (words <= 14 && leaningStart.test(sentence))
}

export function assistantFacts(text: string, facts: Facts, { within }: TextOptions): void {
  const assistantSentences = sentences(text)
  for (let index = 0; index < assistantSentences.length; index++) {
    const sentence = assistantSentences[index]!
    const next = assistantSentences[index + 1]
    const { command, said, states } = rankAssistantSentence(sentence)
    addMentions(sentence, facts, {
      within,
      states: states && command === 0,
      nameRankMax: 100,
      nameLoss: assistantNameLoss,
    })
    if (command > 0) {
      const follows = next !== undefined && !mentionsOutcome(sentence) && command >= 50 && followsUp(next)
      facts.command(follows ? `${sentence}: ${next}` : sentence, {
        outcome: "",
        rank: follows ? 66 : command,
      })
    } else if (said > 0) facts.said(sentence, { rank: said, by: "assistant" })
  }
  facts.asked = questionAtEnd(text)
}

/** A short sentence that gives the outcome of the command in the sentence before. */
function followsUp(next: string): boolean {
  return wordCount(next) <= 14 && outcomes.test(next) && !mentionsCommand(next)
}

interface MentionOptions {
  within: (path: string) => string
  states: boolean
  nameRankMax: number
  nameLoss?: number
}

function addMentions(
  sentence: string,
  facts: Facts,
  { within, states, nameRankMax, nameLoss = 0 }: MentionOptions,
): void {
  for (const path of pathsIn(sentence)) {
    const rank = !states ? fileRanks.named : reportsChange(sentence) ? fileRanks.stated : fileRanks.told
    facts.file(within(path), { told: 1, rank })
  }
  addNames(sentence, facts, { rankMin: 20, rankMax: nameRankMax, loss: nameLoss })
}

function addNames(
  sentence: string,
  facts: Facts,
  { rankMin, rankMax, loss = 0 }: { rankMin: number; rankMax: number; loss?: number },
): void {
  for (const { value, rank } of namesIn(sentence)) {
    if (rank < rankMin) continue
    facts.identifier(value, {
      note: noteOf(sentence, value),
      rank: Math.max(1, Math.min(rank, rankMax) - lossOf({ value, rank }, { sentence, loss })),
    })
  }
}

function lossOf({ value, rank }: Name, { sentence, loss }: { sentence: string; loss: number }): number {
  if (loss === assistantNameLoss && comesLast(sentence, value)) return loss - lastNameGain
  return rank >= sureNameRank && loss === asideNameLoss ? sureNameLoss : loss
}
