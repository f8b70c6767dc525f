-- A drawer is one cashier's cash, from opening with a float to the count at closing.
CREATE TABLE drawers (
    id            INTEGER PRIMARY KEY,
    cashier       TEXT    NOT NULL CHECK (cashier <> ''),
    float_cents   INTEGER NOT NULL CHECK (float_cents >= 0),
    opened_at     INTEGER NOT NULL,
    closed_at     INTEGER,
    counted_cents INTEGER CHECK (counted_cents >= 0)
) STRICT;

CREATE UNIQUE INDEX drawers_one_open ON drawers (cashier) WHERE closed_at IS NULL;
