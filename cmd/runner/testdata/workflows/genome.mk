samples := A B C
done = @mkdir -p $(@D) && touch $@ && echo '$(1)' >> $(RAN)

all: plots/quality.txt
mapped/%.txt: reference/genome.txt reads/%.txt; $(call done,map["$*"])
sorted/%.txt: mapped/%.txt; $(call done,sort["$*"])
calls/all.txt: reference/genome.txt $(samples:%=sorted/%.txt); $(call done,call)
plots/quality.txt: calls/all.txt plot.txt; $(call done,plot)
.SECONDARY:
