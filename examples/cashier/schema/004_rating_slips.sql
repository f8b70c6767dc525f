-- A rating slip records how a player plays at one table.
CREATE TABLE rating_slips (
    id                INTEGER PRIMARY KEY,
    visit_id          INTEGER NOT NULL REFERENCES visits (id),
    table_name        TEXT    NOT NULL CHECK (table_name <> ''),
    average_bet_cents INTEGER NOT NULL CHECK (average_bet_cents > 0),
    opened_at         INTEGER NOT NULL,
    closed_at         INTEGER
) STRICT;

CREATE INDEX rating_slips_by_visit ON rating_slips (visit_id);
