texts := $(notdir $(wildcard texts/*.txt))
counts := $(texts:%=out/counts/%)
done = @mkdir -p $(@D) && touch $@ && echo '$(1)' >> $(RAN)

all: out/words.tsv
$(counts): out/counts/%: texts/%; $(call done,count["$*"])
out/words.tsv: $(counts); $(call done,table)
