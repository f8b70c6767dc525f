done = @mkdir -p $(@D) && touch $@ && echo '$(1)' >> $(RAN)
packages := $(notdir $(wildcard packages/*))

# The graph of the manifests, as words PACKAGE:NEEDED.
edges := $(shell awk -F '"' '\
  $$2 == "name" { split(FILENAME, path, "/"); package = path[2]; named[$$4] = package } \
  $$4 == "workspace:*" { needs[package] = needs[package] " " $$2 } \
  END { for (p in needs) { n = split(needs[p], names, " "); for (i = 1; i <= n; i++) print p ":" named[names[i]] } }' \
  packages/*/package.json)

all: dist/table.txt
dist/table.txt: $(packages:%=dist/%/installs.txt) tools/table.sh; $(call done,table)
dist/%/installs.txt: packages/%/package.json tools/pack.sh; $(call done,package["$*"])
$(foreach edge,$(edges),$(eval dist/$(firstword $(subst :, ,$(edge)))/installs.txt: dist/$(lastword $(subst :, ,$(edge)))/installs.txt))
.SECONDARY:
