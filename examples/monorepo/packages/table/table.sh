## package table
# table_row CELL... prints cells of eight characters.
table_row() { for cell; do pad_right "$cell" 8; done; echo; }
