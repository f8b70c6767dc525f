define package
dist/$(1).sh: packages/$(1)/$(1).sh tools/bundle.sh $(2:%=dist/%.sh)
	@mkdir -p dist && touch dist/$(1).sh && echo '$(1)' >> $(RAN)
all: dist/$(1).sh
endef

all:
$(eval $(call package,chars,))
$(eval $(call package,numbers,))
$(eval $(call package,lists,))
$(eval $(call package,env,))
$(eval $(call package,strings,chars))
$(eval $(call package,pad,strings))
$(eval $(call package,trim,strings))
$(eval $(call package,split,strings lists))
$(eval $(call package,join,lists))
$(eval $(call package,sum,numbers lists))
$(eval $(call package,average,sum))
$(eval $(call package,csv,split trim))
$(eval $(call package,table,csv pad))
$(eval $(call package,dates,numbers split))
$(eval $(call package,log,dates env))
$(eval $(call package,color,env))
$(eval $(call package,style,color strings))
$(eval $(call package,report,table average style))
$(eval $(call package,mail,report trim))
$(eval $(call package,cli,report log))
