# A stand-in for coding agents: it does what one might do in each role, always the same. It
# is part of the example, so that the example runs without an account and the same each
# time. A real agent gets the same task on its standard input.
set -eu

role=$1
mkdir -p out/parts

# save writes standard input to a file, at once.
save() {
  cat > "$1.tmp"
  mv "$1.tmp" "$1"
}

report() { printf '%s\n' "$1" >> "$RUNNER_REPORT"; }

case $role in
reviewer)
  cat > "$RUNNER_FINDINGS" <<'EOT'
[
  {"severity": "p0", "title": "a name that is cut off may end with a dash", "file": "docs/PRD-007.md", "line": 6},
  {"severity": "p2", "title": "letters with accents are not mentioned", "file": "docs/PRD-007.md", "line": 3}
]
EOT
  exit
  ;;

architect)
  cat > /dev/null # the task
  save out/plan.txt <<'EOT'
letters: small letters
signs: one dash for all other signs
length: at most 24 characters
EOT
  report '{"type": "message", "id": "MSG-1", "to": "implementer", "body": "each part is one filter"}'
  report '{"type": "knowledge", "id": "KE-1", "status": "injected"}'
  printf '%s\n' 'summary=three parts' 'location=out/plan.txt' >> "$RUNNER_OUTPUT"
  ;;

implementer)
  cat > /dev/null
  case $PART in
  letters) filter="tr 'A-Z' 'a-z'" ;;
  signs) filter="tr -cs 'a-z0-9\\n' '-'" ;;
  length)
    filter="cut -c 1-24"
    report '{"type": "conflict", "id": "CONF-1", "status": "start", "parties": ["architect", "implementer"], "reason": "does a name end within a word?"}'
    report '{"type": "conflict", "id": "CONF-1", "status": "resolved", "state": "it may"}'
    ;;
  esac
  printf '%s\n' "$filter" | save "out/parts/$PART.txt"
  report '{"type": "message", "id": "MSG-1", "status": "done", "response": "understood"}'
  printf '%s\n' "summary=the part $PART" "location=out/parts/$PART.txt" >> "$RUNNER_OUTPUT"
  ;;

fixer)
  cat > /dev/null
  touch out/fixes.txt
  if [ -f "$RUNNER_FEEDBACK" ]; then # what the last iteration found
    for fix in end:'s/-*$//' begin:'s/^-*//'; do
      name=${fix%%:*} edit=${fix#*:}
      if grep -q "$name: the name of" "$RUNNER_FEEDBACK"; then
        report "{\"type\": \"note\", \"kind\": \"key_fix\", \"file\": \"out/page-name.sh\", \"change\": \"no dash at the $name\"}"
        { grep -vF "sed '$edit'" out/fixes.txt || true; echo "sed '$edit'"; } | save out/fixes.txt
      fi
    done
  fi
  {
    echo '# Prints the name of the page with the title $1.'
    printf '%s' "printf '%s\\n' \"\$1\""
    cat out/parts/letters.txt out/parts/signs.txt out/parts/length.txt out/fixes.txt | while IFS= read -r filter; do
      printf ' |\n  %s' "$filter"
    done
    echo
  } | save out/page-name.sh
  printf '%s\n' "summary=iteration $RUNNER_ITERATION" 'location=out/page-name.sh' >> "$RUNNER_OUTPUT"
  ;;

writer)
  cat > /dev/null
  {
    echo '# Names of pages'
    echo
    sed 's/^/- /' out/plan.txt
    echo
    echo "Fixes after tests: $(grep -c . out/fixes.txt)"
  } | save out/report.md
  report '{"type": "knowledge", "id": "KE-2", "status": "captured"}'
  printf '%s\n' 'summary=the report' 'location=out/report.md' >> "$RUNNER_OUTPUT"
  ;;

*)
  echo "agent.sh: there is no role $role" >&2
  exit 2
  ;;
esac

printf '%s\n' '{"type": "metric", "name": "tokens_in", "value": 900}' '{"type": "metric", "name": "tokens_out", "value": 250}' >> "$RUNNER_REPORT"
