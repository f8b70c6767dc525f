CREATE TABLE players (
    id            INTEGER PRIMARY KEY,
    name          TEXT    NOT NULL CHECK (name <> ''),
    card          TEXT    NOT NULL UNIQUE CHECK (card <> ''),
    registered_at INTEGER NOT NULL
) STRICT;

-- A visit is what a player's money and play are accounted to.
CREATE TABLE visits (
    id         INTEGER PRIMARY KEY,
    player_id  INTEGER NOT NULL REFERENCES players (id),
    started_at INTEGER NOT NULL,
    ended_at   INTEGER
) STRICT;

CREATE UNIQUE INDEX visits_one_open ON visits (player_id) WHERE ended_at IS NULL;
