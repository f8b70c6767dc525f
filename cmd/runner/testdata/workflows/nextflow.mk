done = @mkdir -p $(@D) && touch $@ && echo '$(1)' >> $(RAN)
samples := gut_1 gut_2 soil_1 soil_2

# What is added to the reads of gut_1 becomes a contig of its own.
added := $(if $(wildcard out/split),$(shell find reads/gut_1.fastq -newer out/split))
contigs := gut.1 gut.2 soil.1 $(if $(added),gut.3)

all: results/contigs.tsv
$(samples:%=out/cleaned/%): out/cleaned/%: clean.awk reads/%.fastq; $(call done,clean["$*"])

out/pooled/gut: out/cleaned/gut_1 out/cleaned/gut_2; $(call done,pool["gut"])
out/pooled/soil: out/cleaned/soil_1 out/cleaned/soil_2; $(call done,pool["soil"])

# A phase that repeats runs as a whole in its second iteration.
out/assembled: assemble.awk out/pooled/gut out/pooled/soil
	@touch $@ && echo 'assemble["gut"] assemble["soil"]' >> $(RAN)
out/split: split.awk out/assembled; $(call done,split)

# A contig is described again if its bytes have changed, and not because the step ran again that
# wrote it.
$(contigs:%=out/described/%): out/described/%: describe.awk | out/split; $(call done,describe["$*"])
$(contigs:%=out/translated/%): out/translated/%: translate.awk | out/split; $(call done,translate["$*"])
results/contigs.tsv: $(samples:%=out/cleaned/%) $(contigs:%=out/described/%) $(contigs:%=out/translated/%); $(call done,table)
