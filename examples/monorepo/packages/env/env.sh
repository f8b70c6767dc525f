## package env
# env_or NAME DEFAULT prints a variable of the environment, or a default.
env_or() { eval "printf '%s\\n' \"\${$1:-$2}\""; }
