import { tellsCommand, tellsOutcome } from "../calls/commands.ts"
import { rankBySigns } from "./rank-by-words.ts"
import { SentenceModel } from "./sentence-model.ts"
import { userMattersWeights } from "./sentence-weights.ts"

const matters = new SentenceModel(userMattersWeights)

/** What is to be known of a sentence to judge it. */
export interface Judged {
  /** 0 to 100; 0 is not worth keeping. */
  rank: number
  /** It states something, or asks for work: not a question, nor a wish to be shown something. */
  states: boolean
}

const statingChance = 0.4
/** How a command ended is known by its form. */
const reportRankMin = 58
/** How much of a rank is what was learnt from examples; the rest is what signs say. Each finds what the other misses. */
const learntShare = 0.5

/** How much a sentence of the user matters after the messages around it are gone. */
function rankSaid(sentence: string): Judged {
  const chance = matters.chance(sentence)
  const states = chance >= statingChance
  const bySigns = rankBySigns(sentence)
  if (bySigns === 0) return { rank: 0, states: false }
  const rank = Math.round(learntShare * 90 * chance + (1 - learntShare) * bySigns)
  const isReport = tellsCommand(sentence) && tellsOutcome(sentence)
  return { rank: Math.max(isReport ? reportRankMin : 1, rank), states }
}

/** A clause below it matters to nobody. */
const asideRankMax = 22
/** What is left without the asides matters so much that they only take room. */
const plainRankMin = 45

/**
 * People who write Chinese run many sentences together with commas: what is said beside is taken out, so that it neither
 * costs room nor hides what matters. A clause that points back keeps the one that it points to.
 */
export function judgeSaid(sentence: string): Judged & { text: string } {
  const shorter = withoutAsides(sentence)
  if (shorter !== "" && shorter !== sentence) {
    const judged = rankSaid(shorter)
    if (judged.rank >= plainRankMin) return { ...judged, text: shorter }
  }
  return { ...rankSaid(sentence), text: sentence }
}

const pointsBack = /^(?:这|那是|那样|否则|不然|要不然|所以|因为|毕竟|它|没得商量|免得|省得)/

function withoutAsides(sentence: string): string {
  const clauses = sentence.split(/(?<=，)/)
  if (clauses.length < 2) return sentence
  const keeps = clauses.map((clause) => rankSaid(clause.replace(/，$/, "")).rank > asideRankMax)
  for (let at = clauses.length - 1; at > 0; at--) {
    if (keeps[at] && pointsBack.test(clauses[at]!)) keeps[at - 1] = true
  }
  return clauses
    .filter((_, at) => keeps[at])
    .join("")
    .replace(/，$/, "")
}
