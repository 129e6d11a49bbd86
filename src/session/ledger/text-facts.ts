import { answerTo, questionAtEnd, withAnswerApart } from "./answers.ts"
import { tellsCommand, tellsOutcome } from "./calls/commands.ts"
import { fileRanks, noteOf } from "./calls/tool-facts.ts"
import type { Facts } from "./collect.ts"
import { type Name, namesIn, pathsIn } from "./names.ts"
import { rankTold, tellsChange } from "./rank/rank-assistant.ts"
import { judgeSaid } from "./rank/rank-user.ts"
import { outcomes } from "./sentences/cues.ts"
import { pastedLines, sentences } from "./sentences/prose.ts"
import { wordCount } from "./sentences/word-count.ts"

interface TextOptions {
  within: (path: string) => string
  /** The text is of the user's last message. */
  newest?: boolean
}

/** A message of more sentences than people type is a document that somebody pasted. */
const typedSentencesMax = 16
const newestEntriesMax = 8
const entryLengthMax = 260
const joinedRankMin = 42
/** A name in a question, or in what is said beside, is worth less than one in a statement. */
const plainRankMin = 46
const besideLoss = 28
/** Who tells that they changed a file speaks of themselves, which counts for less. */
const changeRankMin = 38
/** What surely means one thing is asked about for a reason. */
const sureNameRank = 76
const sureNameLoss = 14
/** What the assistant names comes after what the user names: its explanations are full of versions and functions. */
const toldNameLoss = 22
/** What a sentence is there to tell comes last in it: "the build that broke it is 4711". */
const lastNameGain = 12

function comesLast(sentence: string, value: string): boolean {
  const after = sentence.slice(sentence.lastIndexOf(value) + value.length)
  return sentence.length > value.length && !/[\p{L}\p{N}]/u.test(after)
}

export function userFacts(text: string, facts: Facts, { within, newest = false }: TextOptions): void {
  const said = facts.asked === undefined ? sentences(text) : withAnswerApart(sentences(text))
  const pasted = Math.min(30, Math.max(0, said.length - typedSentencesMax))
  const judged = said.map(judgeSaid)
  for (const [index, sentence] of said.entries()) {
    const { states, rank } = judged[index]!
    const isPlain = rank >= plainRankMin
    mentioned(sentence, facts, {
      within,
      states: states && rank >= changeRankMin && pasted === 0,
      nameRankMax: pasted > 0 ? 50 : 100,
      nameLoss: isPlain ? 0 : besideLoss,
    })
  }
  for (const [index, replicaPart] of entriesOf(judged, facts.asked).entries()) {
    const rank = Math.max(1, replicaPart.rank - pasted)
    facts.said(replicaPart.text, { rank, newest: newest && index < newestEntriesMax })
  }
  facts.asked = undefined
  pastedNames(text, facts)
}

const pastedNamesMax = 6

/** Of something pasted, only names that are few are worth a line. */
function pastedNames(text: string, facts: Facts): void {
  const lines = pastedLines(text).slice(0, 40)
  const found = lines.flatMap((line) => namesIn(line.slice(0, 300)).filter(({ rank }) => rank >= 62))
  const rankMax = found.length <= pastedNamesMax ? 48 : 12
  for (const line of lines) names(line.slice(0, 300), facts, { rankMin: 62, rankMax })
}

interface Entry {
  text: string
  rank: number
}

interface Judgement extends Entry {
  states: boolean
}

/** Sentences that lean on the one before are kept with it, and an answer with its question. */
function entriesOf(said: readonly Judgement[], asked: string | undefined): Entry[] {
  const entries: Entry[] = []
  for (const [index, sentence] of said.entries()) {
    const { text, rank } = sentence
    const before = said[index - 1]
    const last = entries.at(-1)
    const answer = before === undefined && asked !== undefined ? answerTo(asked, sentence) : undefined
    if (answer !== undefined) entries.push(answer)
    else if (rank === 0) continue
    else if (before && last?.text.includes(before.text) && joins(sentence, before) && hasRoom(last, text)) {
      last.text += `${gapAfter(last.text)}${text}`
      last.rank = Math.max(last.rank, rank)
    } else entries.push({ text, rank })
  }
  return entries
}

function joins(sentence: Judgement, before: Judgement): boolean {
  const bothState = (before.states || before.rank === 0) && sentence.states
  return bothState && sentence.rank >= joinedRankMin && leans(sentence.text, before.text)
}

function hasRoom(replicaPart: Entry, text: string): boolean {
  return replicaPart.text.length + text.length < entryLengthMax
}

function gapAfter(text: string): string {
  if (/[?？!！:：)）]$/.test(text)) return " "
  return /\p{Script=Han}$/u.test(text) ? "。" : ". "
}

const leaningStart =
  /^(?:and|but|or|so|it|its|it's|this|that|that's|these|those|they|both|neither|either|same|then|otherwise|because|since|at all|ever|period|settled|done|except|unless|instead|keep|result|reason|which|also)\b|^(?:但|不过|而且|所以|因为|否则|不然|然后|它|这|那|都|就|结果|原因|两|同样)/i

function leans(sentence: string, before: string): boolean {
  const words = wordCount(sentence)
  const isShort = words <= (/\p{Script=Han}/u.test(sentence) ? 2 : 5)
  return isShort || wordCount(before) < 3 || (words <= 14 && leaningStart.test(sentence))
}

export function assistantFacts(text: string, facts: Facts, { within }: TextOptions): void {
  const told = sentences(text)
  for (let index = 0; index < told.length; index++) {
    const sentence = told[index]!
    const next = told[index + 1]
    const { command, said, states } = rankTold(sentence)
    mentioned(sentence, facts, {
      within,
      states: states && command === 0,
      nameRankMax: 100,
      nameLoss: toldNameLoss,
    })
    if (command > 0) {
      const follows = next !== undefined && !tellsOutcome(sentence) && command >= 50 && followsUp(next)
      facts.command(follows ? `${sentence}: ${next}` : sentence, {
        outcome: "",
        rank: follows ? 66 : command,
      })
    } else if (said > 0) facts.said(sentence, { rank: said, by: "assistant" })
  }
  facts.asked = questionAtEnd(text)
}

/** A short sentence that says how what was told before it ended. */
function followsUp(next: string): boolean {
  return wordCount(next) <= 14 && outcomes.test(next) && !tellsCommand(next)
}

interface Mentioned {
  within: (path: string) => string
  states: boolean
  nameRankMax: number
  nameLoss?: number
}

function mentioned(
  sentence: string,
  facts: Facts,
  { within, states, nameRankMax, nameLoss = 0 }: Mentioned,
): void {
  for (const path of pathsIn(sentence)) {
    const rank = !states ? fileRanks.named : tellsChange(sentence) ? fileRanks.stated : fileRanks.told
    facts.file(within(path), { told: 1, rank })
  }
  names(sentence, facts, { rankMin: 20, rankMax: nameRankMax, loss: nameLoss })
}

function names(
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
  if (loss === toldNameLoss && comesLast(sentence, value)) return loss - lastNameGain
  return rank >= sureNameRank && loss === besideLoss ? sureNameLoss : loss
}
