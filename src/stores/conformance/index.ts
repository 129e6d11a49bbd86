import { blobCases } from "./blobs.ts"
import { changesCases } from "./changes.ts"
import { changesScopeCases } from "./changes-scope.ts"
import { collectCases } from "./collect.ts"
import { commitCases } from "./commit.ts"
import type { ConformanceCase } from "./driver.ts"
import { errorCases } from "./errors.ts"
import { forkCases } from "./fork.ts"
import { historyCases } from "./history.ts"
import { importCases } from "./import.ts"
import { inboxCases } from "./inbox.ts"
import { leaseCases } from "./lease.ts"
import { noteCases } from "./notes.ts"
import { openMessageCases } from "./open-message.ts"
import { permissionsCases } from "./permissions.ts"
import { redactCases } from "./redact.ts"
import { removeCases } from "./remove.ts"
import { revertCases } from "./revert.ts"
import { searchCases } from "./search.ts"
import { sessionsCases } from "./sessions.ts"
import { shareCases } from "./share.ts"
import { textCases } from "./text.ts"
import { treeCases } from "./tree.ts"
import { turnCases } from "./turn.ts"
import { watchCases } from "./watch.ts"

export {
  type ConformanceCase,
  type ConformanceDriver,
  type ConformanceNeed,
  type ConformanceOpenOptions,
  fits,
} from "./driver.ts"

/** What every store must keep to, case by case. Any test runner will do: a case throws if its promise is broken. */
export const conformanceCases: readonly ConformanceCase[] = [
  ...commitCases,
  ...turnCases,
  ...openMessageCases,
  ...historyCases,
  ...forkCases,
  ...revertCases,
  ...noteCases,
  ...changesCases,
  ...changesScopeCases,
  ...inboxCases,
  ...leaseCases,
  ...importCases,
  ...removeCases,
  ...redactCases,
  ...blobCases,
  ...searchCases,
  ...sessionsCases,
  ...permissionsCases,
  ...shareCases,
  ...treeCases,
  ...collectCases,
  ...watchCases,
  ...textCases,
  ...errorCases,
]
