sources := $(wildcard src/*.txt)
done = @mkdir -p $(@D) && touch $@ && echo '$(1)' >> $(RAN)
formats := dist/cjs/made dist/esm/made dist/system/made

all: $(formats) dist/types.txt out/react-18.txt out/react-19.txt out/package.txt published/package.txt
$(formats): dist/%/made: $(sources); $(call done,build["$*"])
dist/types.txt: types.txt; $(call done,types)
out/react-%.txt: dist/esm/made dist/types.txt; $(call done,test["$*"])
out/package.txt: $(formats) dist/types.txt package.txt; $(call done,pack)
published/package.txt: out/package.txt; $(call done,publish)
