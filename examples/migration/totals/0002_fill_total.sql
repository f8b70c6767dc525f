-- The mistake: an order without a discount has NULL there, and its total becomes NULL, too.
UPDATE orders SET total_cents = quantity * price_cents - discount_cents;
