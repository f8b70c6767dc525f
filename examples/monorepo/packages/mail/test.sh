# The test of package mail, over its bundle.
set -eu
. ./tools/expect.sh
. "./dist/mail.sh"

expect 'Subject: totals' "$(mail_subject ' totals ')"
