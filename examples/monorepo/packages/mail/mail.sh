## package mail
# mail_subject TEXT prints the subject line of a message.
mail_subject() { printf 'Subject: %s\n' "$(trim_both "$1")"; }
