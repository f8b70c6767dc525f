## package average
# average_of NUMBER... prints the mean, rounded down.
average_of() { echo $(($(sum_of "$@") / $(lists_length "$@"))); }
