-- Orders get a total in cents.
ALTER TABLE orders ADD COLUMN total_cents INTEGER;
