-- An order without a discount has NULL there, which counts as 0.
UPDATE orders SET total_cents = quantity * price_cents - coalesce(discount_cents, 0);
