-- Nobody needs these any more. Now the totals can't be computed again.
ALTER TABLE orders DROP COLUMN price_cents;
ALTER TABLE orders DROP COLUMN discount_cents;
