export { extendLedger, type GrowingLedger, growingLedger, newestPrompt } from "./extend.ts"
export { ledgerText } from "./render.ts"
