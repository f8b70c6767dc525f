done = @mkdir -p $(@D) && touch $@ && echo '$(1)' >> $(RAN)

all: plots/quals.svg
mapped_reads/%.sam: scripts/map.awk data/genome.fa data/samples/%.fastq; $(call done,map["$*"])
sorted_reads/%.sam: mapped_reads/%.sam; $(call done,sort["$*"])
sorted_reads/%.sam.index: sorted_reads/%.sam scripts/index.awk; $(call done,index["$*"])
calls/all.vcf: scripts/call.awk data/genome.fa $(foreach sample,A B,sorted_reads/$(sample).sam sorted_reads/$(sample).sam.index); $(call done,call)
plots/quals.svg: scripts/plot.awk calls/all.vcf; $(call done,plot)
.SECONDARY:
