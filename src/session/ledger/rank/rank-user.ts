import { mentionsCommand, mentionsOutcome } from "../calls/commands.ts"
import { rankByWords } from "./rank-by-words.ts"
import { SentenceModel } from "./sentence-model.ts"
import { userMattersWeights } from "./sentence-weights.ts"

const matters = new SentenceModel(userMattersWeights)

/** The rank of a user's sentence. */
export interface UserSentenceRank {
  /** 0 to 100; a sentence with 0 is not kept. */
  rank: number
  /**
   * True if the sentence states something or asks for work: false for a question, or for a wish to be shown something.
   */
  states: boolean
}

const statingChance = 0.4
/** The least rank of a report of how a command ended, which is recognised by its form. */
const reportRankMin = 58
/**
 * The weight of the trained model in a rank; the word lists have the rest. Each finds sentences that the other misses.
 */
const learntShare = 0.5

/** Ranks a sentence by how much it matters after the messages around it are gone. */
function rankClause(sentence: string): UserSentenceRank {
  const chance = matters.chance(sentence)
  const states = chance >= statingChance
  const byWords = rankByWords(sentence)
  if (byWords === 0) return { rank: 0, states: false }
  const rank = Math.round(learntShare * 90 * chance + (1 - learntShare) * byWords)
  const isReport = mentionsCommand(sentence) && mentionsOutcome(sentence)
  return { rank: Math.max(isReport ? reportRankMin : 1, rank), states }
}

/** A clause with this rank or less is an aside. */
const asideRankMax = 22
/** The sentence without its asides must have at least this rank for the asides to be left out. */
const plainRankMin = 45

/**
 * Ranks a user's sentence. In Chinese, people join many sentences with commas: asides are left out, so that they
 * neither take room nor hide the clause that matters. A clause that refers back keeps the clause before it.
 */
export function rankUserSentence(sentence: string): UserSentenceRank & { text: string } {
  const shorter = withoutAsides(sentence)
  if (shorter !== "" && shorter !== sentence) {
    const judged = rankClause(shorter)
    if (judged.rank >= plainRankMin) return { ...judged, text: shorter }
  }
  return { ...rankClause(sentence), text: sentence }
}

const pointsBack = /^(?:这|那是|那样|否则|不然|要不然|所以|因为|毕竟|它|没得商量|免得|省得)/

function withoutAsides(sentence: string): string {
  const clauses = sentence.split(/(?<=，)/)
  if (clauses.length < 2) return sentence
  const keeps = clauses.map((clause) => rankClause(clause.replace(/，$/, "")).rank > asideRankMax)
  for (let at = clauses.length - 1; at > 0; at--) {
    if (keeps[at] && pointsBack.test(clauses[at]!)) keeps[at - 1] = true
  }
  return clauses
    .filter((_, at) => keeps[at])
    .join("")
    .replace(/，$/, "")
}
