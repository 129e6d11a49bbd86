import { newSession } from "../bad-input-fixture.ts"
import { plainId } from "../ids.ts"
import {
  abort,
  type BadCall,
  fork,
  freshSegment,
  nothing,
  nowhere,
  part,
  title,
  underFence,
  unknownSession,
} from "./bad-call.ts"

const unknownIds: BadCall[] = [
  ["an unknown session is read", "not_found", (store) => store.session(unknownSession)],
  ["the history of an unknown session is read", "not_found", (store) => store.history(unknownSession)],
  ["the tree of an unknown session is read", "not_found", (store) => store.tree(unknownSession)],
  ["the parents of an unknown session are read", "not_found", (store) => store.parents(unknownSession)],
  ["the todos of an unknown session are read", "not_found", (store) => store.todos(unknownSession)],
  ["the inbox of an unknown session is read", "not_found", (store) => store.inbox(unknownSession)],
  [
    "the permissions of an unknown session are read",
    "not_found",
    (store) => store.permissions({ sessionID: unknownSession }),
  ],
  [
    "the changes of an unknown session are read",
    "not_found",
    (store) => store.changes({ sessionID: unknownSession }),
  ],
  [
    "an unknown session is patched",
    "not_found",
    (store) => store.commit({ ops: [{ op: "session.patch", sessionID: unknownSession, set: title }] }),
  ],
  ["an item is admitted to an unknown session", "not_found", (store) => store.admit(abort(unknownSession))],
  ["an unknown session is claimed", "not_found", (store) => store.claim(unknownSession)],
  ["an unknown session is removed", "not_found", (store) => store.remove(unknownSession)],
  ["an unknown session is redacted", "not_found", (store) => store.redact({ sessionID: unknownSession })],
  [
    "an unknown session is forked",
    "not_found",
    (store) => store.commit({ ops: [fork(plainId("session", 997), {})] }),
  ],
  [
    "a child is made of an unknown session",
    "not_found",
    (store) =>
      store.commit({
        ops: [
          {
            op: "session.create",
            session: { ...newSession(unknownSession), parentID: plainId("session", 997) },
            segment: freshSegment,
          },
        ],
      }),
  ],
  [
    "an unknown message is read",
    "not_found",
    (store, { calm }) => store.history(calm, { messageID: nothing }),
  ],
  [
    "a session is forked at an unknown message",
    "not_found",
    (store, { calm }) => store.commit({ ops: [fork(calm, { messageID: nothing })] }),
  ],
  [
    "an unknown message is redacted",
    "not_found",
    (store, { calm }) => store.redact({ sessionID: calm, messageID: nothing }),
  ],
  [
    "a session is reverted to an unknown message",
    "not_found",
    (store, { calm }) =>
      store.commit({
        ops: [{ op: "session.patch", sessionID: calm, set: { revert: { messageID: nothing } } }],
      }),
  ],
  [
    "a note is put on an unknown message",
    "not_found",
    (store, { calm }) =>
      store.commit({
        ops: [{ op: "note.put", sessionID: calm, messageID: nothing, key: "summary", value: 1 }],
      }),
  ],
  [
    "a part is put into an unknown message",
    "not_found",
    (store, fixture) =>
      underFence(store, fixture, { op: "part.put", sessionID: fixture.busy, messageID: nothing, part }),
  ],
  [
    "a piece is added to an unknown part",
    "not_found",
    (store, fixture) =>
      underFence(store, fixture, {
        op: "piece.add",
        sessionID: fixture.busy,
        messageID: fixture.busyMessage,
        partID: part.id,
        field: "text",
        offset: 0,
        text: "bad",
      }),
  ],
  [
    "an unknown part is redacted",
    "not_found",
    (store, { calm, calmMessage }) =>
      store.redact({ sessionID: calm, messageID: calmMessage, partID: part.id }),
  ],
  [
    "an unknown item is taken",
    "not_found",
    (store, fixture) =>
      underFence(store, fixture, { op: "inbox.take", sessionID: fixture.busy, itemID: "nothing" }),
  ],
  ["an unknown blob is read", "not_found", (store) => store.blobs.get("0".repeat(64))],
]

const foreignSegments: BadCall[] = [
  [
    "a tail is read that the session never left",
    "not_found",
    (store, { calm }) => store.history(calm, { left: nowhere }),
  ],
  [
    "a tail of another session is read",
    "not_found",
    (store, { busy, calmLeft }) => store.history(busy, { left: calmLeft }),
  ],
  [
    "a tail of another session is forked",
    "not_found",
    (store, { busy, calmLeft }) => store.commit({ ops: [fork(busy, { left: calmLeft })] }),
  ],
  [
    "the present segment is read as a tail",
    "not_found",
    (store, { calm, calmSegment }) => store.history(calm, { left: calmSegment }),
  ],
  [
    "a session is made on a segment in use",
    "conflict",
    (store, { calmSegment }) =>
      store.commit({
        ops: [{ op: "session.create", session: newSession(unknownSession), segment: calmSegment }],
      }),
  ],
  [
    "a fork is made on a segment in use",
    "conflict",
    (store, { calm, calmLeft }) => store.commit({ ops: [fork(calm, { segment: calmLeft })] }),
  ],
]

export const unknownNames: readonly BadCall[] = [...unknownIds, ...foreignSegments]
