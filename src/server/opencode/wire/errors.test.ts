import { expect, test } from "vitest"
import { StemmaError } from "../../../protocol/index.ts"
import { errorAnswer, HttpError } from "../../http/errors.ts"
import { errorBody, orBusy } from "./errors.ts"

const told = (error: unknown) => errorBody(errorAnswer(error))

test("errors have the names, the message and the codes that the client and ours look for", () => {
  expect(told(new StemmaError("not_found", "No such thing."))).toEqual({
    name: "NotFoundError",
    _tag: "NotFoundError",
    data: { message: "No such thing." },
    code: "not_found",
    message: "No such thing.",
  })
  const issues = [{ path: ["query", "limit"], message: "too small" }]
  expect(told(new HttpError(400, "Wrong.", { details: { issues } }))).toMatchObject({
    name: "BadRequest",
    data: { message: "Wrong.", kind: "Query" },
  })
  expect(told(new HttpError(401, "Who?", { code: "denied" }))).toMatchObject({ name: "UnauthorizedError" })
  const unforeseen = told(new Error("with a secret"))
  expect(unforeseen).toMatchObject({ name: "UnknownError", code: "internal" })
  expect(JSON.stringify(unforeseen)).not.toContain("secret")
})

test("a session that is busy says so, and other failures stay what they are", async () => {
  const failing = (error: Error) => orBusy("ses_1", Promise.reject(error)).catch(told)
  expect(await failing(new StemmaError("conflict", "Busy."))).toMatchObject({
    name: "SessionBusyError",
    _tag: "SessionBusyError",
    sessionID: "ses_1",
    data: { message: "Busy." },
  })
  expect(await failing(new StemmaError("invalid", "Wrong."))).toMatchObject({ name: "BadRequest" })
})
