export { extendLedger } from "./extend.ts"
export { ledgerText } from "./render.ts"
