done = @mkdir -p $(@D) && touch $@ && echo '$(1)' >> $(RAN)

all: registry/published
define entry
dist/cjs/$(1).sh: build.awk src/$(1).sh $(2:%=src/%.sh); $$(call done,bundle["cjs-$(1)"])
dist/esm/$(1).sh: build.awk src/$(1).sh; $$(call done,bundle["esm-$(1)"])
dist += dist/cjs/$(1).sh dist/esm/$(1).sh
endef
$(eval $(call entry,vanilla,))
$(eval $(call entry,shallow,))
$(eval $(call entry,middleware,vanilla))
$(eval $(call entry,react,vanilla shallow))
package/files.txt: package.yaml $(dist); $(call done,pack)
registry/published: package/files.txt; $(call done,publish)
