## package sum
# sum_of NUMBER... prints the sum of whole numbers.
sum_of() { total=0; for n; do numbers_is "$n" && total=$((total + n)); done; echo "$total"; }
