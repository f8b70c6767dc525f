done = @mkdir -p $(@D) && touch $@ && echo '$(1)' >> $(RAN)

all: out/report.txt
out/orders.txt: in/orders.txt; $(call done,extract)
out/prices.txt: out/orders.txt in/prices.txt; $(call done,prices)
out/rates.txt: out/orders.txt in/rates.txt; $(call done,rates)
out/report.txt: out/prices.txt out/rates.txt; $(call done,report)
