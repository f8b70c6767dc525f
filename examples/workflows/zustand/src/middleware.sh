# Keeps the values of the store in a file.
. "$STORE/vanilla.sh"

# persist FILE sets the values that a file has, and adds each change to it.
persist() {
  middleware_file=$1
  while IFS='=' read -r middleware_name middleware_value; do
    store_set "$middleware_name" "$middleware_value"
  done < "$middleware_file"
  store_subscribe middleware_save
}

middleware_save() {
  printf '%s=%s\n' "$1" "$2" >> "$middleware_file"
}
