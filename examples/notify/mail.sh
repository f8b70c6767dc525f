# Sends what happened by mail, with the first of sendmail and mail that is in PATH.
set -eu

subject="$RUNNER_PRD: $RUNNER_STATUS"
text=$(jq -r -f message.jq "$RUNNER_EVENT")

if command -v sendmail > /dev/null; then
  printf 'To: %s\nSubject: %s\nContent-Type: text/plain; charset=utf-8\n\n%s\n' "$MAIL_TO" "$subject" "$text" | sendmail -i -t
elif command -v mail > /dev/null; then
  printf '%s\n' "$text" | mail -s "$subject" "$MAIL_TO"
else
  echo "neither sendmail nor mail is in PATH" >&2
  exit 1
fi
