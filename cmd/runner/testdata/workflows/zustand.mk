hosts := $(basename $(notdir $(wildcard hosts/*.sh)))
tests := spec.sh test.sh hosts/19.2.sh
done = @mkdir -p $(@D) && touch $@ && echo '$(1)' >> $(RAN)

all: out/source.txt $(hosts:%=out/host-%.txt) out/size.gz
out/source.txt: $(tests) $(wildcard src/*.sh); $(call done,source)
$(hosts:%=out/host-%.txt): out/host-%.txt: spec.sh test.sh hosts/%.sh $(wildcard src/*.sh); $(call done,host["$*"])

define entry
dist/cjs/$(1).sh: build.awk src/$(1).sh $(2:%=src/%.sh); $$(call done,bundle["cjs-$(1)"])
dist/esm/$(1).sh: build.awk src/$(1).sh; $$(call done,bundle["esm-$(1)"])
cjs += dist/cjs/$(1).sh
esm += dist/esm/$(1).sh
endef
$(eval $(call entry,vanilla,))
$(eval $(call entry,shallow,))
$(eval $(call entry,middleware,vanilla))
$(eval $(call entry,react,vanilla shallow))

define built
all: out/build-$(1)-$(2).txt
out/build-$(1)-$(2).txt: $(tests) $$($(1)); $$(call done,build["$(1)-$(2)"])
endef
$(foreach format,cjs esm,$(foreach mode,development production,$(eval $(call built,$(format),$(mode)))))

strict := $(patsubst %,out/strict-%.txt,noglob noclobber allexport)
all: $(strict)
$(strict): out/strict-%.txt: $(tests) $(cjs); $(call done,strict["$*"])
out/size.gz: $(cjs) $(esm); $(call done,size)
