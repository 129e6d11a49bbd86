export {
  extendLedger,
  type GrowingLedger,
  growingLedger,
  mayHaveFarFacts,
  nearStart,
  newestPrompt,
} from "./extend.ts"
export { ledgerText } from "./render.ts"
