-- An event is written in the transaction that it tells of, and delivered later.
CREATE TABLE outbox_events (
    id           INTEGER PRIMARY KEY,
    topic        TEXT    NOT NULL,
    payload      TEXT    NOT NULL CHECK (json_valid(payload)),
    attempts     INTEGER NOT NULL DEFAULT 0,
    delivered_at INTEGER
) STRICT;

CREATE INDEX outbox_events_pending ON outbox_events (id) WHERE delivered_at IS NULL;
