/**
 * Numbered migrations: number n migrates a database from schema version n - 1 to n. New migrations are appended; a
 * published migration never changes.
 *
 * Rows refer to each other by integer keys. An id is stored once, in the row that is looked up by it: as 16 bytes if
 * Stemma created the id, as text otherwise. Rows that streaming commits change (tips, pieces) are narrow and separate
 * from the rows that lists read (sessions).
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY) WITHOUT ROWID, STRICT;

  -- Texts that many rows share: projects, directories, agents, and the constant fields of messages.
  CREATE TABLE names (key INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;

  CREATE TABLE sessions (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id ANY NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    importing INTEGER NOT NULL,
    project INTEGER NOT NULL,
    directory INTEGER NOT NULL,
    parent INTEGER,
    agent INTEGER,
    name TEXT,
    archived INTEGER,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    title TEXT NOT NULL,
    folded TEXT NOT NULL,
    segment INTEGER NOT NULL,
    count INTEGER NOT NULL,
    open INTEGER NOT NULL,
    marked INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    cost TEXT NOT NULL,
    tokens TEXT NOT NULL
  ) STRICT;
  -- Fields that no query filters by. A separate table, because diffs and rules may be long and sessions change often.
  CREATE TABLE session_data (session INTEGER PRIMARY KEY, data TEXT NOT NULL) STRICT;
  CREATE INDEX sessions_updated ON sessions
    (updated, key, folded, archived, importing, project, directory, agent, parent, created);
  CREATE INDEX sessions_created ON sessions
    (created, key, folded, archived, importing, project, directory, agent, parent);
  CREATE INDEX sessions_project ON sessions (project, updated, key, importing, directory, agent);
  CREATE INDEX sessions_directory ON sessions (directory, updated, key, importing, agent);
  CREATE INDEX sessions_parent ON sessions (parent, updated, key, importing) WHERE parent IS NOT NULL;
  CREATE INDEX sessions_agent ON sessions (agent, updated, key, importing) WHERE agent IS NOT NULL;
  CREATE UNIQUE INDEX sessions_name ON sessions (name, ifnull(agent, 0)) WHERE name IS NOT NULL;

  -- What every commit changes: the session's counters and its lease. The highest version is the version of the store.
  CREATE TABLE tips (
    session INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    version INTEGER NOT NULL,
    inbox INTEGER NOT NULL DEFAULT 0,
    fence INTEGER NOT NULL DEFAULT 0,
    expires INTEGER NOT NULL DEFAULT 0,
    holder TEXT
  ) STRICT;
  CREATE INDEX tips_version ON tips (version);

  CREATE TABLE removed (
    session INTEGER PRIMARY KEY,
    id ANY NOT NULL UNIQUE,
    directory TEXT NOT NULL,
    ancestors TEXT NOT NULL,
    time INTEGER NOT NULL
  ) STRICT;

  -- The history of a segment: the parent's history before position base, then the segment's own messages.
  CREATE TABLE segments (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id ANY NOT NULL UNIQUE,
    session INTEGER,
    parent INTEGER,
    base INTEGER NOT NULL,
    version INTEGER NOT NULL,
    created INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX segments_session ON segments (session) WHERE session IS NOT NULL;
  CREATE INDEX segments_parent ON segments (parent, base) WHERE parent IS NOT NULL;
  -- The queue of segments whose session was removed and whose messages are not freed yet.
  CREATE TABLE garbage (segment INTEGER PRIMARY KEY) STRICT;

  CREATE TABLE epochs (
    session INTEGER NOT NULL,
    version INTEGER NOT NULL,
    keep INTEGER NOT NULL,
    PRIMARY KEY (session, version)
  ) WITHOUT ROWID, STRICT;

  CREATE TABLE messages (
    segment INTEGER NOT NULL,
    position INTEGER NOT NULL,
    id ANY NOT NULL,
    version INTEGER NOT NULL,
    sealed INTEGER NOT NULL,
    constants INTEGER NOT NULL,
    data TEXT NOT NULL,
    piece INTEGER,
    piece_end INTEGER,
    PRIMARY KEY (segment, position)
  ) WITHOUT ROWID, STRICT;
  CREATE INDEX messages_id ON messages (id);

  CREATE TABLE parts (
    key INTEGER PRIMARY KEY,
    segment INTEGER NOT NULL,
    position INTEGER NOT NULL,
    place INTEGER NOT NULL,
    id ANY NOT NULL,
    version INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    data TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX parts_place ON parts (segment, position, place);
  CREATE INDEX parts_marks ON parts (segment, position) WHERE kind BETWEEN 20 AND 29;

  -- Growing text of open messages, and long text of sealed messages, which is not copied into the part. The key is the
  -- segment and a counter, so an append changes one page. A message stores the range of keys of its pieces.
  CREATE TABLE pieces (
    key INTEGER PRIMARY KEY,
    place INTEGER NOT NULL,
    version INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    text TEXT NOT NULL
  ) STRICT;

  CREATE TABLE notes (
    segment INTEGER NOT NULL,
    at INTEGER NOT NULL,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (segment, position, name, at, version)
  ) WITHOUT ROWID, STRICT;
  CREATE INDEX notes_version ON notes (segment, version);

  CREATE TABLE todos (session INTEGER PRIMARY KEY, version INTEGER NOT NULL, data TEXT NOT NULL) STRICT;

  CREATE TABLE permissions (
    key INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    id ANY NOT NULL,
    version INTEGER NOT NULL,
    open INTEGER NOT NULL,
    data TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX permissions_id ON permissions (session, id);

  -- A taken item keeps its hash, so that a repeated admission is recognised as a duplicate.
  CREATE TABLE inbox (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL,
    id TEXT NOT NULL,
    hash BLOB NOT NULL,
    time INTEGER NOT NULL,
    data TEXT
  ) STRICT;
  CREATE UNIQUE INDEX inbox_id ON inbox (session, id);
  CREATE INDEX inbox_waiting ON inbox (session, key) WHERE data IS NOT NULL;

  CREATE TABLE blob_refs (
    segment INTEGER NOT NULL,
    position INTEGER NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (segment, position, hash)
  ) WITHOUT ROWID, STRICT;
  CREATE INDEX blob_refs_hash ON blob_refs (hash);

  -- The queue of sealed messages that are not in the text index yet.
  CREATE TABLE unindexed (segment INTEGER NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (segment, position))
    WITHOUT ROWID, STRICT;
  -- The queue of sessions whose title changed, and the titles as they are in the title index.
  CREATE TABLE untitled (session INTEGER PRIMARY KEY) STRICT;
  CREATE TABLE titled (session INTEGER PRIMARY KEY, title TEXT NOT NULL) STRICT;
  CREATE VIRTUAL TABLE text_index USING fts5 (
    tokens, content = '', detail = none, columnsize = 0, tokenize = 'ascii'
  );
  INSERT INTO text_index (text_index, rank)
    VALUES ('secure-delete', 1), ('automerge', 0), ('crisismerge', 1000), ('usermerge', 8), ('pgsz', 950);
  CREATE VIRTUAL TABLE title_index USING fts5 (
    tokens, content = '', detail = none, columnsize = 0, tokenize = 'ascii'
  );
  INSERT INTO title_index (title_index, rank)
    VALUES ('secure-delete', 1), ('automerge', 0), ('crisismerge', 1000), ('usermerge', 8), ('pgsz', 950);
  `,
  `
  -- Partial indexes, because few permission requests are open and few sessions are shared.
  CREATE INDEX permissions_open ON permissions (session, key) WHERE open = 1;
  CREATE INDEX permissions_named ON permissions (id);
  -- The SHA-256 of the share's secret.
  ALTER TABLE sessions ADD COLUMN share BLOB;
  CREATE UNIQUE INDEX sessions_share ON sessions (share) WHERE share IS NOT NULL;
  `,
]

/** Marks a database file as a Stemma store. */
export const applicationID = 0x5354_4d41
