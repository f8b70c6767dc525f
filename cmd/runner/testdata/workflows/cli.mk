sources := $(wildcard src/*.txt)
keys := 1.25-linux 1.25-macos 1.25-windows 1.26-linux 1.26-macos 1.26-windows
tests := $(keys:%=out/test/%.txt)
done = @mkdir -p $(@D) && touch $@ && echo '$(1)' >> $(RAN)

all: out/license.txt out/lint.txt $(tests) out/docs.txt out/archive.txt
out/license.txt: $(sources); $(call done,license)
out/lint.txt: $(sources) module.txt; $(call done,lint)
$(tests): out/test/%.txt: $(sources) module.txt; $(call done,test["$*"])
out/docs.txt: src/help.txt; $(call done,docs)
out/archive.txt: out/docs.txt $(sources) $(tests); $(call done,archive)
