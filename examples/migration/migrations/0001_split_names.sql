-- A customer's name becomes two columns.
ALTER TABLE customers ADD COLUMN first_name TEXT NOT NULL DEFAULT '';
ALTER TABLE customers ADD COLUMN last_name TEXT NOT NULL DEFAULT '';
UPDATE customers SET
  first_name = substr(name, 1, instr(name, ' ') - 1),
  last_name = substr(name, instr(name, ' ') + 1);
ALTER TABLE customers DROP COLUMN name;
