-- Cash against chips: a buy-in brings cash into the drawer, a cash-out takes it out.
CREATE TABLE transactions (
    id              INTEGER PRIMARY KEY,
    drawer_id       INTEGER NOT NULL REFERENCES drawers (id),
    visit_id        INTEGER NOT NULL REFERENCES visits (id),
    kind            TEXT    NOT NULL CHECK (kind IN ('buy_in', 'cash_out')),
    amount_cents    INTEGER NOT NULL CHECK (amount_cents > 0),
    idempotency_key TEXT    NOT NULL UNIQUE,
    recorded_at     INTEGER NOT NULL
) STRICT;

CREATE INDEX transactions_by_drawer ON transactions (drawer_id);
CREATE INDEX transactions_by_visit ON transactions (visit_id);
