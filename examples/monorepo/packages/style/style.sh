## package style
# style_title TEXT prints a heading.
style_title() { if color_on; then printf '\033[1m%s\033[0m\n' "$1"; else strings_upper "$1"; fi; }
