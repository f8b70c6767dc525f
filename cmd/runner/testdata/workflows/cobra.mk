units := $(foreach platform,linux darwin,$(foreach version,1.21 1.24 1.26,out/$(platform)-$(version).txt))
done = @mkdir -p out && touch $@ && echo '$(1)' >> $(RAN)

all: out/license out/lint $(units) out/windows.txt
out/license: header.txt $(wildcard *.go); $(call done,license)
out/lint: go.mod $(wildcard *.go); $(call done,lint)
$(units): out/%.txt: test.sh go.mod $(filter-out %_windows.go,$(wildcard *.go)); $(call done,unix["$*"])
out/windows.txt: test.sh go.mod $(filter-out %_unix.go,$(wildcard *.go)); $(call done,windows)
