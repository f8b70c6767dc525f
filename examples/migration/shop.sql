-- The shop before any migration. Few orders have a discount; most have none, which is NULL.
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE orders (
  id             INTEGER PRIMARY KEY,
  customer_id    INTEGER NOT NULL REFERENCES customers (id),
  quantity       INTEGER NOT NULL,
  price_cents    INTEGER NOT NULL,
  discount_cents INTEGER
);

INSERT INTO customers VALUES (1, 'Ada Lovelace'), (2, 'Grace Hopper'), (3, 'Mary Jackson'), (4, 'Edith Clarke');

WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 1000)
INSERT INTO orders
SELECT n, n % 4 + 1, n % 7 + 1, 250 + n % 13 * 100, CASE WHEN n % 9 = 0 THEN 100 END FROM number;
