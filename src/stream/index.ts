export * from "./hub.ts"
