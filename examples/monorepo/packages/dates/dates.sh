## package dates
# dates_leap YEAR succeeds in a leap year.
dates_leap() { numbers_is "$1" && [ $(($1 % 4)) = 0 ] && { [ $(($1 % 100)) != 0 ] || [ $(($1 % 400)) = 0 ]; }; }
# dates_year DATE prints the year of a date such as 2024-02-29.
dates_year() { split_field "$1" - 1; }
