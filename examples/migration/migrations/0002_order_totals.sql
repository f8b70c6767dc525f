-- Orders get their total in cents, and an index for the list of a customer.
ALTER TABLE orders ADD COLUMN total_cents INTEGER NOT NULL DEFAULT 0;
UPDATE orders SET total_cents = quantity * price_cents;
CREATE INDEX orders_by_customer ON orders (customer_id, id);
