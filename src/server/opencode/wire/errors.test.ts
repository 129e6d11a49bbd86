import { expect, test } from "vitest"
import { StemmaError } from "../../../protocol/index.ts"
import { errorAnswer, HttpError } from "../../http/errors.ts"
import { errorBody, withBusyError } from "./errors.ts"

const wire = (error: unknown) => errorBody(errorAnswer(error))

test("errors have the names of the OpenCode client and the codes of Stemma's client", () => {
  expect(wire(new StemmaError("not_found", "No such thing."))).toEqual({
    name: "NotFoundError",
    _tag: "NotFoundError",
    data: { message: "No such thing." },
    code: "not_found",
    message: "No such thing.",
  })
  const issues = [{ path: ["query", "limit"], message: "too small" }]
  expect(wire(new HttpError(400, "Wrong.", { details: { issues } }))).toMatchObject({
    name: "BadRequest",
    data: { message: "Wrong.", kind: "Query" },
  })
  expect(wire(new HttpError(401, "Who?", { code: "denied" }))).toMatchObject({ name: "UnauthorizedError" })
  const unforeseen = wire(new Error("with a secret"))
  expect(unforeseen).toMatchObject({ name: "UnknownError", code: "internal" })
  expect(JSON.stringify(unforeseen)).not.toContain("secret")
})

test("a conflict becomes SessionBusyError, and other errors keep their name", async () => {
  const failing = (error: Error) => withBusyError("ses_1", Promise.reject(error)).catch(wire)
  expect(await failing(new StemmaError("conflict", "Busy."))).toMatchObject({
    name: "SessionBusyError",
    _tag: "SessionBusyError",
    sessionID: "ses_1",
    data: { message: "Busy." },
  })
  expect(await failing(new StemmaError("invalid", "Wrong."))).toMatchObject({ name: "BadRequest" })
})
