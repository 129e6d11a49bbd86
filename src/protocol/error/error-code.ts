import { z } from "zod"
import { errorCodes } from "./error-codes.ts"

/** The closed set of reasons why a call of Stemma can fail. */
export const ErrorCode = z.enum(errorCodes)
export type ErrorCode = z.infer<typeof ErrorCode>
