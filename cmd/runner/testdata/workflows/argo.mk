done = @mkdir -p $(@D) && touch $@ && echo '$(1)' >> $(RAN)
sources := go.mod $(wildcard cmd/points/*.go line/*.go store/*.go)

all: out/status.txt
out/bin/points: $(filter-out %_test.go,$(sources)); $(call done,build)
out/tested: $(sources); $(call done,unit)
out/coverage/%.txt: go.mod coverage.hcl; $(call done,coverage["$*"])
out/coverage/line.txt: $(wildcard line/*.go)
out/coverage/store.txt: $(wildcard line/*.go store/*.go)
out/cpu.csv: out/bin/points e2e.hcl $(wildcard points/*.csv); $(call done,e2e)
out/summary.txt: out/coverage/line.txt out/coverage/store.txt out/cpu.csv; $(call done,celebrate)
out/status.txt: out/tested out/summary.txt; $(call done,notify)
