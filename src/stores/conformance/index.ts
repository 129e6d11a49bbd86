import { commitCases } from "./commit/commit.ts"
import { errorCases } from "./commit/errors.ts"
import { importCases } from "./commit/import.ts"
import { inboxCases } from "./commit/inbox.ts"
import { leaseCases } from "./commit/lease.ts"
import { noteCases } from "./commit/notes.ts"
import { openMessageCases } from "./commit/open-message.ts"
import { textCases } from "./commit/text.ts"
import { tickCases } from "./commit/tick.ts"
import type { ConformanceCase } from "./driver.ts"
import { collectCases } from "./history/collect.ts"
import { forkCases } from "./history/fork.ts"
import { historyCases } from "./history/history.ts"
import { redactCases } from "./history/redact.ts"
import { removeCases } from "./history/remove.ts"
import { revertCases } from "./history/revert.ts"
import { shareCases } from "./history/share.ts"
import { treeCases } from "./history/tree.ts"
import { blobCases } from "./read/blobs.ts"
import { changesCases } from "./read/changes.ts"
import { changesScopeCases } from "./read/changes-scope.ts"
import { permissionsCases } from "./read/permissions.ts"
import { searchCases } from "./read/search.ts"
import { sessionsCases } from "./read/sessions.ts"
import { watchCases } from "./read/watch.ts"

export {
  type ConformanceCase,
  type ConformanceDriver,
  type ConformanceNeed,
  type ConformanceOpenOptions,
  fits,
} from "./driver.ts"

/**
 * The test cases that every store must pass. They work with any test runner: a case throws if its promise is broken.
 */
export const conformanceCases: readonly ConformanceCase[] = [
  ...commitCases,
  ...tickCases,
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
