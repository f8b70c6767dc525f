# Posts what happened to the webhook of a chat. Neither the message nor the address, which
# is as secret as a password, is an argument of curl, since all users of the machine can see
# those.
set -eu

text=$(jq -r -f message.jq "$RUNNER_EVENT")
payload=$(printf '%s' "$text" | jq -R -s '{text: .}')

printf '%s' "$payload" | curl --config /dev/fd/3 3<<EOT
url = "$CHAT_WEBHOOK"
header = "Content-Type: application/json"
data-binary = "@-"
fail
silent
show-error
EOT
