## package color
# color_on succeeds where colors are wanted.
color_on() { [ -n "$(env_or COLOR '')" ]; }
